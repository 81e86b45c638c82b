"""A streamed response with the document of a crawl payload, in a content coding that the client accepts."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Literal, Protocol

import zstandard
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from storecrawl.catalog import StoredPayload
from storecrawl.payloads import OpenedPayload

Coding = Literal["zstd", "gzip"]

CODINGS: tuple[Coding, ...] = ("zstd", "gzip")
ZSTD_LEVEL = 3
GZIP_LEVEL = 1
GZIP_WINDOW = 16 + zlib.MAX_WBITS


class DocumentResponse(StreamingResponse):
    """The document of an open file, as a download; the file is always closed.

    The file is verified before the first byte is sent. If it changes meanwhile, the response ends before its
    Content-Length or its last chunk, so that every client notices.
    """

    media_type = "application/json"

    def __init__(self, payload: StoredPayload, opened: OpenedPayload, *, coding: Coding | None) -> None:
        headers = {
            "Content-Disposition": f'attachment; filename="payload-{payload.id}.json"',
            "Vary": "Accept-Encoding",
            "X-Content-Type-Options": "nosniff",
        }
        if coding is None:
            headers["Content-Length"] = str(opened.size_raw)
            super().__init__(opened.document(), headers=headers)
        else:
            headers["Content-Encoding"] = coding
            super().__init__(_compressed(opened.document(), _packer(coding)), headers=headers)
        self._opened = opened

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._opened:
            await super().__call__(scope, receive, send)


def coding_for(accept_encoding: str) -> Coding | None:
    """Return the coding that a client prefers according to its Accept-Encoding header, None for no coding.

    A weight of 0 excludes a coding. Of equal ones, zstd is chosen.
    """
    weights = dict(_parse_coding(coding) for coding in accept_encoding.lower().split(","))
    best = max(CODINGS, key=lambda coding: _weight(weights, coding))
    return best if _weight(weights, best) > 0 else None


class _Packer(Protocol):
    def compress(self, data: bytes, /) -> bytes: ...

    def flush(self) -> bytes: ...


def _packer(coding: Coding) -> _Packer:
    if coding == "zstd":
        return zstandard.ZstdCompressor(level=ZSTD_LEVEL).compressobj()
    return zlib.compressobj(GZIP_LEVEL, wbits=GZIP_WINDOW)


def _compressed(pieces: Iterable[bytes], packer: _Packer) -> Iterator[bytes]:
    for piece in pieces:
        if packed := packer.compress(piece):
            yield packed
    yield packer.flush()


def _weight(weights: dict[str, float], coding: Coding) -> float:
    return weights.get(coding, weights.get("*", 0.0))


def _parse_coding(coding: str) -> tuple[str, float]:
    name, _, parameters = coding.partition(";")
    key, _, weight = parameters.partition("=")
    return name.strip(), _number(weight) if key.strip() == "q" else 1.0


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
