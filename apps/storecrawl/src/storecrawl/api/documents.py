"""A streamed response with the document of a crawl payload."""

from __future__ import annotations

from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from storecrawl.catalog import StoredPayload
from storecrawl.payloads import OpenedPayload


class DocumentResponse(StreamingResponse):
    """The document of an open file, as a download; the file is always closed.

    The file is verified before the first byte is sent. If it changes meanwhile, the response is shorter than its
    Content-Length, so that every client notices.
    """

    media_type = "application/json"

    def __init__(self, payload: StoredPayload, opened: OpenedPayload, *, packed: bool) -> None:
        size = opened.size_gz if packed else opened.size_raw
        headers = {
            "Content-Length": str(size),
            "Content-Disposition": f'attachment; filename="payload-{payload.id}.json"',
            "Vary": "Accept-Encoding",
            "X-Content-Type-Options": "nosniff",
        }
        if packed:
            headers["Content-Encoding"] = "gzip"
        super().__init__(opened.packed_bytes() if packed else opened.document(), headers=headers)
        self._opened = opened

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._opened:
            await super().__call__(scope, receive, send)


def accepts_gzip(accept_encoding: str) -> bool:
    """Return whether a client accepts gzip according to its Accept-Encoding header; a weight of 0 means no."""
    weights = dict(_parse_coding(coding) for coding in accept_encoding.lower().split(","))
    return weights.get("gzip", weights.get("*", 0.0)) > 0


def _parse_coding(coding: str) -> tuple[str, float]:
    name, _, parameters = coding.partition(";")
    key, _, weight = parameters.partition("=")
    return name.strip(), _number(weight) if key.strip() == "q" else 1.0


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
