"""HTTP within bounds: no client takes more bytes, time or room than its place has, before any of our code is asked.

The parser itself has no bounds: it gathers a header for as long as one comes, and each piece costs more than the last.

A connection *waits* while nothing of ours works for it: until its request is complete, while its answer is not read,
and between two requests. Where all places are taken, whoever has waited longest gives up his, so that a newcomer who
asks at once is answered however many hold connections open and ask for nothing.
"""

from __future__ import annotations

import asyncio
import logging
import resource
from collections import Counter
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import Any, Protocol

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

__all__ = [
    "BoundedProtocol",
    "Bounds",
    "Holder",
    "Places",
    "bounded",
    "raise_file_limit",
]

END = b"connection: close\r\ncontent-length: 0\r\n\r\n"
TOO_LONG = "too long"
CHOPPED = "in tiny chunks"
# A body comes in chunks of this size on average, or larger; the first ones may be smaller.
CHUNK_BYTES = 16
FREE_CHUNKS = 64
# Files that are no visitors' connections: those to the database, the log, the program's own.
OWN_FILES = 128
# Ticks from one line of the log to the next one about the same.
QUIET = 10
log = logging.getLogger("rolecall.web")


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
        self._chunks_left = FREE_CHUNKS
        self._body_bytes = 0
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
        self._chunks_left, self._body_bytes = FREE_CHUNKS, 0
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
        self._body_bytes += len(body)
        self._chunks_left -= 1
        if self._chunks_left + self._body_bytes // CHUNK_BYTES < 0:
            self._places.note(CHOPPED)
            raise OutOfBounds
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What visitors may take: `connections` and `backlog` of all of them together, the rest of each connection.

    `head` is a request line with its headers, or what comes with a body and is none of it, in bytes. The seconds are
    those from the accept, or from the last answer, to a complete head; to a complete body; in which an answer that
    is not read stands still; and in which a connection ends that is to be closed.
    """

    connections: int = 1_000
    backlog: int = 1_000
    head: int = 65_536
    headers: int = 200
    pipelined: int = 8
    head_seconds: int = 10
    body_seconds: int = 30
    unread_seconds: int = 60
    end_seconds: int = 10

    def within(self, files: int) -> Bounds:
        """The same, but never more connections than a process that may have so many files open can hold.

        Half of them are for connections that are accepted at once, before the first of them is looked at.
        """
        most = max(1, (files - OWN_FILES) // 2)
        return replace(self, connections=min(self.connections, most), backlog=min(self.backlog, most))


class Holder(Protocol):
    """Who holds a place: a connection."""

    def is_overdue(self) -> bool:
        """Count a second; say whether what is waited for has taken too many by now."""

    def cut(self) -> None:
        """Close the connection, whatever it has not read or sent yet."""


class Places:
    """Gives places and takes them back; says in the log how many it took back, and why."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self._holders: set[Holder] = set()
        self._waiting: dict[Holder, None] = {}  # who has waited longest comes first
        self._refused: Counter[str] = Counter()
        self._quiet = 0

    def take(self, holder: Holder) -> None:
        """Give a newcomer a place; where there is none, that of who has waited longest, which may be himself."""
        self._holders.add(holder)
        self.wait(holder)
        if len(self._holders) > self.bounds.connections:
            self._end(next(iter(self._waiting)), "crowded out")

    def wait(self, holder: Holder) -> None:
        """Note that from now on nothing of ours works for this one."""
        self._waiting.pop(holder, None)
        if holder in self._holders:
            self._waiting[holder] = None

    def work(self, holder: Holder) -> None:
        """Note that from now on something of ours works for this one."""
        self._waiting.pop(holder, None)

    def leave(self, holder: Holder) -> None:
        """Take a place back."""
        self._holders.discard(holder)
        self._waiting.pop(holder, None)

    def note(self, why: str) -> None:
        """Note that somebody was refused."""
        self._refused[why] += 1

    def tick(self) -> None:
        """Once a second: end those who are overdue, and tell of those who were refused.

        Seconds are counted, not measured: where this process itself stood still, nobody is late for it.
        """
        for holder in [holder for holder in self._holders if holder.is_overdue()]:
            self._end(holder, "too slow")
        self._quiet -= 1
        if self._refused and self._quiet <= 0:
            reasons = ", ".join(f"{number} {why}" for why, number in sorted(self._refused.items()))
            most = self.bounds.connections
            log.warning("Connections were refused: %s; %d of %d are open", reasons, len(self._holders), most)
            self._refused.clear()
            self._quiet = QUIET

    def _end(self, holder: Holder, why: str) -> None:
        self.leave(holder)
        self.note(why)
        holder.cut()


def raise_file_limit() -> int:
    """Let this process have as many files open as it may ask for; return how many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError):
        return soft  # a kernel may refuse what it says
    return hard
