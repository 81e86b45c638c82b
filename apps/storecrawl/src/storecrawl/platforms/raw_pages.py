"""The unchanged responses to the requests for a menu's pages, and the document that stores them.

For each response, the document has a line of JSON with the request and the number of bytes, then those
bytes and a line end.

    {"part":"rec shown","page":0,"status":200,"contentType":"application/json","bytes":20}
    {"data":{ ... }}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

from storecrawl.platforms.exchange import Reply

NEW_LINE = b"\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class RawPage:
    """An unchanged response and its request: a page (from 0) of a `part` of the menu, which the platform names."""

    part: str
    number: int
    status: int
    content_type: str
    body: bytes

    @classmethod
    def of(cls, reply: Reply, part: str, number: int) -> RawPage:
        return cls(
            part=part,
            number=number,
            status=reply.status,
            content_type=reply.content_type,
            body=reply.body,
        )

    @property
    def reply(self) -> Reply:
        return Reply(path="", status=self.status, content_type=self.content_type, retry_after=None, body=self.body)


class _Head(msgspec.Struct, rename="camel"):
    part: str
    page: int
    status: int
    content_type: str
    bytes: int


HEADS = msgspec.json.Decoder(_Head)


def write_raw_pages(pages: Iterable[RawPage]) -> bytes:
    """Write responses to one document."""
    return b"".join(_serialize(page) for page in pages)


def read_raw_pages(pieces: Iterable[bytes]) -> Iterator[RawPage]:
    """Yield the responses of a document, which may come in chunks, one at a time.

    Raises ValueError for any other document.
    """
    text = _Text(iter(pieces))
    while line := text.line():
        head = HEADS.decode(line)
        body = text.take(head.bytes + len(NEW_LINE))
        if not body.endswith(NEW_LINE):
            raise ValueError("a response does not have the declared length")
        yield RawPage(
            part=head.part,
            number=head.page,
            status=head.status,
            content_type=head.content_type,
            body=body[: -len(NEW_LINE)],
        )


class _Text:
    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._buffer = bytearray()

    def line(self) -> bytes:
        """Take a line without its end; empty at the end of the document."""
        while (end := self._buffer.find(NEW_LINE)) < 0 and self._more():
            pass
        return self.take(end + 1) if end >= 0 else bytes(self._buffer)

    def take(self, size: int) -> bytes:
        """Take this many bytes, or as many as are left."""
        while len(self._buffer) < size and self._more():
            pass
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    def _more(self) -> bool:
        piece = next(self._pieces, None)
        self._buffer += piece or b""
        return piece is not None


def _serialize(page: RawPage) -> bytes:
    head = _Head(
        part=page.part,
        page=page.number,
        status=page.status,
        content_type=page.content_type,
        bytes=len(page.body),
    )
    return b"%b\n%b\n" % (msgspec.json.encode(head), page.body)
