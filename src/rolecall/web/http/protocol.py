"""HTTP with limits: a client gets a bounded number of bytes, seconds and connections before any route runs.

The parser itself has no limits: it buffers a header while one arrives, and each piece costs more than the last.

A connection *waits* while the server does no work for it: until its request is complete, while its response is not
read, and between two requests. When all places are taken, the connection that has waited longest is closed, so that new
clients are served however many idle connections are open.
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

END = b"connection: close\r\ncontent-length: 0\r\n\r\n"
TOO_LONG = "too long"
TINY_CHUNKS = "in tiny chunks"
# The average chunk of a body has at least this size, except for the first ones.
CHUNK_BYTES = 16
FREE_CHUNKS = 64
# Open files that are not client connections: database connections, the log, the program's own files.
OWN_FILES = 128
# Seconds between two log lines about refused connections.
QUIET = 10
log = logging.getLogger("rolecall.web")


class Phase(Enum):
    """The phases of a connection, in order. The client is waited for in all of them but WORK."""

    HEAD = "head"
    BODY = "body"
    WORK = "work"
    UNREAD = "unread"
    END = "end"


class LimitExceeded(Exception):
    """Raised through the parser to stop it."""


class BoundedProtocol(HttpToolsProtocol):
    """One connection, rejected when it exceeds its limits and closed when its client is too slow.

    Bytes are counted as they arrive, and those of the body are subtracted again. The rest is the head and the body's
    framing. One read (256 kB) can exceed the limit before it is noticed.
    """

    def __init__(self, *arguments: Any, places: ConnectionSlots, **named: Any) -> None:
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
            return  # a trailer: the headers have been processed already
        if len(self.headers) >= self._bounds.headers:
            self._places.note(TOO_LONG)
            raise LimitExceeded
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
            raise LimitExceeded

    def on_body(self, body: bytes) -> None:
        self._bytes_left += len(body)
        self._body_bytes += len(body)
        self._chunks_left -= 1
        if self._chunks_left + self._body_bytes // CHUNK_BYTES < 0:
            self._places.note(TINY_CHUNKS)
            raise LimitExceeded
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
        """Count a second. Return whether the client is too slow."""
        # The buffer shrinks while the client reads the response, however slowly.
        waits = (self._phase(), self.transport.get_write_buffer_size())
        self._seconds = self._seconds + 1 if waits == self._waited else 0
        self._waited = waits
        return self._seconds > self._patience(waits[0])

    def cut(self) -> None:
        """Close the connection, with a 408 if a request has begun."""
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


def make_protocol(bounds: Bounds) -> tuple[partial[BoundedProtocol], ConnectionSlots]:
    """Return the factory of a server's connections, and the places that they share."""
    places = ConnectionSlots(bounds)
    return partial(BoundedProtocol, places=places), places


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The limits: `connections` and `backlog` for all connections together, the rest for each of them.

    `head` limits the request line with its headers, and a body's framing, in bytes. `head_seconds` run from the accept
    or the last response until the head is complete, `body_seconds` until the body is complete, `unread_seconds` while a
    response is not read, and `end_seconds` until a closing connection has ended.
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
        """Return the limits reduced to what a process with `files` open files can hold.

        Half of the files are for connections that are accepted together, before the first of them is handled.
        """
        most = max(1, (files - OWN_FILES) // 2)
        return replace(self, connections=min(self.connections, most), backlog=min(self.backlog, most))


class Connection(Protocol):
    """The holder of a place: a connection."""

    def is_overdue(self) -> bool:
        """Count a second. Return whether the client is too slow."""

    def cut(self) -> None:
        """Close the connection immediately."""


class ConnectionSlots:
    """Assigns and frees the places of connections, and logs how many connections it closed, and why."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self._connections: set[Connection] = set()
        self._waiting: dict[Connection, None] = {}  # ordered by how long they have waited, longest first
        self._closed: Counter[str] = Counter()
        self._quiet = 0

    def take(self, connection: Connection) -> None:
        """Give a connection a place. If none is free, close the one that has waited longest, possibly the new one."""
        self._connections.add(connection)
        self.wait(connection)
        if len(self._connections) > self.bounds.connections:
            self._end(next(iter(self._waiting)), "crowded out")

    def wait(self, connection: Connection) -> None:
        """Note that the connection waits."""
        self._waiting.pop(connection, None)
        if connection in self._connections:
            self._waiting[connection] = None

    def work(self, connection: Connection) -> None:
        """Note that the server works for the connection."""
        self._waiting.pop(connection, None)

    def leave(self, connection: Connection) -> None:
        self._connections.discard(connection)
        self._waiting.pop(connection, None)

    def note(self, why: str) -> None:
        """Count a refused connection, for the log."""
        self._closed[why] += 1

    def tick(self) -> None:
        """Close overdue connections and log refused ones. Called once a second.

        Seconds are counted, not measured, so that a stalled server does not blame its clients.
        """
        for connection in [connection for connection in self._connections if connection.is_overdue()]:
            self._end(connection, "too slow")
        self._quiet -= 1
        if self._closed and self._quiet <= 0:
            reasons = ", ".join(f"{number} {why}" for why, number in sorted(self._closed.items()))
            most = self.bounds.connections
            log.warning("Connections were closed: %s; %d of %d are open", reasons, len(self._connections), most)
            self._closed.clear()
            self._quiet = QUIET

    def _end(self, connection: Connection, why: str) -> None:
        self.leave(connection)
        self.note(why)
        connection.cut()


def raise_file_limit() -> int:
    """Raise the limit of open files as far as allowed, and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError):
        return soft  # some kernels refuse the hard limit that they report
    return hard
