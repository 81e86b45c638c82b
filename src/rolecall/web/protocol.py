"""HTTP within bounds: no client takes more bytes, time or room than its place has, before any of our code is asked.

The parser itself has no bounds: it gathers a header for as long as one comes, and each piece costs more than the last.
"""

from __future__ import annotations

import asyncio
from enum import Enum
from functools import partial
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from rolecall.web.places import Bounds, Places

__all__ = ["BoundedProtocol", "bounded"]

END = b"connection: close\r\ncontent-length: 0\r\n\r\n"
TOO_LONG = "too long"


class Phase(Enum):
    """What is waited for, in this order; nothing while something of ours works."""

    HEAD = "head"
    BODY = "body"
    WORK = "work"
    UNREAD = "unread"
    END = "end"


class OutOfBounds(Exception):
    """Raised through the parser, which then feeds nothing more to anybody."""


class BoundedProtocol(HttpToolsProtocol):
    """One connection: refused as soon as it is out of bounds, ended where its client is too slow.

    Bytes are counted as they come, and those of a body taken off again: what is left is the head, or what comes with a
    body and is none of it. As much as one read brings (256 kB) may pass the bound unseen.
    """

    def __init__(self, *arguments: Any, places: Places, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._places = places
        self._bounds = places.bounds
        self._bytes_left = self._bounds.head
        self._in_head = True
        self._waited: tuple[Phase, int] = (Phase.HEAD, 0)
        self._seconds = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._places.take(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._places.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._bytes_left -= len(data)
        super().data_received(data)
        if self._bytes_left < 0 and not self.transport.is_closing():
            self._places.note(TOO_LONG)
            self._answer(431)

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_head:
            return  # a trailer: whoever looked at the headers has done so
        if len(self.headers) >= self._bounds.headers:
            self._places.note(TOO_LONG)
            raise OutOfBounds
        super().on_header(name, value)

    def on_message_begin(self) -> None:
        self._in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._seconds = 0
        super().on_headers_complete()
        if len(self.pipeline) > self._bounds.pipelined:
            self._places.note(TOO_LONG)
            raise OutOfBounds

    def on_body(self, body: bytes) -> None:
        self._bytes_left += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._bytes_left = self._bounds.head
        super().on_message_complete()
        if self._phase() is Phase.WORK:
            self._places.work(self)

    def on_response_complete(self) -> None:
        self._seconds = 0
        super().on_response_complete()
        if self._phase() is Phase.HEAD:
            self._places.wait(self)

    def pause_writing(self) -> None:
        self._places.wait(self)
        super().pause_writing()

    def resume_writing(self) -> None:
        self._places.work(self)
        super().resume_writing()

    def is_overdue(self) -> bool:
        """Count a second; say whether what is waited for has taken too many by now."""
        # An answer that is read, however slowly, leaves less and less behind.
        waits = (self._phase(), self.transport.get_write_buffer_size())
        self._seconds = self._seconds + 1 if waits == self._waited else 0
        self._waited = waits
        return self._seconds > self._patience(waits[0])

    def cut(self) -> None:
        """Close the connection; who has begun a request is told that it took too long."""
        has_begun = self._bytes_left < self._bounds.head and self._phase() in {Phase.HEAD, Phase.BODY}
        if has_begun and self.transport.get_write_buffer_size() == 0:
            self._answer(408)
        else:
            self.transport.abort()

    def _answer(self, status: int) -> None:
        self.transport.write(STATUS_LINE[status] + END)
        self.transport.close()

    def _phase(self) -> Phase:
        if self.transport.is_closing():
            return Phase.END
        if self.flow.write_paused:
            return Phase.UNREAD
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle.response_complete:
            return Phase.HEAD
        return Phase.BODY if cycle.more_body else Phase.WORK

    def _patience(self, phase: Phase) -> float:
        match phase:
            case Phase.HEAD:
                return self._bounds.head_seconds
            case Phase.BODY:
                return self._bounds.body_seconds
            case Phase.UNREAD:
                return self._bounds.unread_seconds
            case Phase.END:
                return self._bounds.end_seconds
            case Phase.WORK:
                return float("inf")


def bounded(bounds: Bounds) -> tuple[partial[BoundedProtocol], Places]:
    """What makes the protocol of each connection of one server, and the places that they share."""
    places = Places(bounds)
    return partial(BoundedProtocol, places=places), places
