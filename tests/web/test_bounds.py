"""Resource limits of one connection, tested with raw sockets on one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse

from rolecall.web.http.protocol import Bounds, ConnectionSlots
from tests.web.streaming import Site, served

GET = b"GET /healthz HTTP/1.1\r\nHost: a\r\n"
CHUNKED = b"POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
PATIENCE = 60.0
# The capacity of the buffers at both ends of a connection.
UNDER_WAY = 16 * 1024 * 1024
PATIENT = {f"{what}_seconds": 10_000 for what in ("head", "body", "unread", "end")}


def application() -> FastAPI:
    application = FastAPI()
    application.state.closing = (asyncio.Event(),)
    application.state.requested, application.state.answer = asyncio.Event(), asyncio.Event()

    @application.get("/healthz")
    async def healthz(request: Request) -> dict[str, str]:
        return dict(request.headers)

    @application.post("/body")
    async def body(request: Request) -> dict[str, Any]:
        return {"bytes": len(await request.body()), "headers": dict(request.headers)}

    @application.get("/large")
    async def large() -> str:
        return "x" * UNDER_WAY

    @application.get("/endless")
    async def endless() -> StreamingResponse:
        async def pieces() -> AsyncIterator[bytes]:
            while True:
                yield b"x" * 65_536
                await asyncio.sleep(0)  # closed connections are detected

        return StreamingResponse(pieces())

    @application.get("/at-work")
    async def work() -> None:
        application.state.requested.set()
        await application.state.answer.wait()

    return application


@asynccontextmanager
async def bounded(**bounds: int) -> AsyncIterator[Site]:
    async with served(application(), Bounds(**bounds)) as site:
        yield site


@dataclass(slots=True)
class Connection:
    """A raw connection to a server."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def end(self) -> bytes:
        """Return everything that arrives until the server closes the connection."""
        parts = []
        async with asyncio.timeout(PATIENCE):
            try:
                while part := await self.reader.read(65_536):
                    parts.append(part)
            except ConnectionError:
                pass
        return b"".join(parts)

    async def flood(self, piece: bytes) -> int:
        """Send the same data repeatedly until the server closes the connection; return the number of sent bytes."""
        sent = 0
        async with asyncio.timeout(PATIENCE):
            try:
                while sent < 10 * UNDER_WAY:
                    await self.send(piece)
                    sent += len(piece)
            except ConnectionError:
                pass
        return sent


@asynccontextmanager
async def connected(site: Site) -> AsyncIterator[Connection]:
    host, port = site.client.base_url.host, site.client.base_url.port
    reader, writer = await asyncio.open_connection(host, port)
    try:
        yield Connection(reader, writer)
    finally:
        writer.transport.abort()


@pytest.mark.parametrize(
    ("beginning", "piece"),
    [
        (GET + b"X-A: ", b"a" * 65_536),
        (GET + b"X-", b"a" * 65_536),
        (b"GET /", b"a" * 65_536),
        (b"GET /?", b"a" * 65_536),
        (b"G", b"E" * 65_536),
        (GET, b"X-A: a\r\n" * 8_192),
        (CHUNKED + b"1;", b"a" * 65_536),
        (CHUNKED, b"1\r\n \r\n" * 8_192),
        (CHUNKED + b"0\r\n", b"X-A: a\r\n" * 8_192),
        (b"", (GET + b"\r\n") * 2_048),
    ],
    ids=["value", "name", "path", "query", "method", "headers", "extension", "chunks", "trailers", "requests"],
)
async def test_endless_request_is_cut_off(beginning: bytes, piece: bytes) -> None:
    async with bounded(**PATIENT) as site, connected(site) as attacker:
        await attacker.send(beginning)

        assert await attacker.flood(piece) < UNDER_WAY
        assert (await site.client.get("/healthz")).status_code == 200


async def test_too_many_small_headers_are_rejected_before_they_are_stored() -> None:
    async with bounded(**PATIENT) as site, connected(site) as attacker:
        await attacker.send(GET + b"A:\r\n" * 201 + b"\r\n")

        assert (await attacker.end()).startswith(b"HTTP/1.1 400 ")


async def test_too_long_head_is_rejected_with_status_431() -> None:
    async with bounded(head=1_000) as site, connected(site) as attacker:
        await attacker.send(GET + b"X-A: " + b"a" * 1_000)

        assert (await attacker.end()).startswith(b"HTTP/1.1 431 ")


async def test_head_and_body_within_the_bounds_are_accepted() -> None:
    async with bounded() as site:
        head = {f"x-{number}": "a" * 300 for number in range(180)}
        answer = await site.client.post("/body", content=b"b" * 1_000_000, headers=head)

    assert answer.json()["bytes"] == 1_000_000
    assert answer.json()["headers"].items() >= head.items()


async def test_one_connection_serves_many_requests() -> None:
    async with bounded(head=2_000) as site, connected(site) as visitor:
        for _ in range(20):
            await visitor.send(GET + b"X-A: " + b"a" * 1_000 + b"\r\n\r\n")
            assert (await visitor.reader.readuntil(b"}")).startswith(b"HTTP/1.1 200 ")


async def test_bytes_after_a_body_are_not_parsed_as_a_header() -> None:
    """A proxy in front of the server may have checked the headers only."""
    async with bounded() as site, connected(site) as attacker:
        await attacker.send(CHUNKED + b"1\r\na\r\n0\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n")

        answer = await attacker.reader.readuntil(b"}}")

    assert b"192.0.2.1" not in answer


@pytest.mark.parametrize(
    ("beginning", "status"),
    [(b"", b""), (GET, b"HTTP/1.1 408 "), (CHUNKED + b"2\r\n", b"HTTP/1.1 408 ")],
    ids=["nothing", "head", "body"],
)
async def test_too_slow_client_gets_a_timeout_response_and_is_disconnected(beginning: bytes, status: bytes) -> None:
    async with bounded(head_seconds=1, body_seconds=1) as site, connected(site) as slow:
        await slow.send(beginning)

        answer = await slow.end()

    assert answer[: len(status)] == status
    assert bool(answer) == bool(status)


@pytest.mark.parametrize(
    ("path", "bounds"),
    [("/endless", PATIENT | {"unread_seconds": 1}), ("/large", PATIENT | {"end_seconds": 1})],
    ids=["more comes", "all is written"],
)
async def test_connection_with_an_unread_response_is_closed(path: str, bounds: dict[str, int]) -> None:
    """This holds for a response that is still being written, and for one that is complete but was never read."""
    async with bounded(**bounds) as site, connected(site) as attacker:
        await attacker.send(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        connections = site.server.server_state.connections
        async with asyncio.timeout(PATIENCE):
            while not connections:
                await asyncio.sleep(0.01)
            while connections:
                await asyncio.sleep(0.01)

        assert len(await attacker.end()) < UNDER_WAY


async def test_longest_idle_connection_makes_room_for_a_new_one() -> None:
    async with bounded(connections=2, **PATIENT) as site, connected(site) as first, connected(site) as second:
        await first.send(GET)
        await second.send(GET)
        async with connected(site) as third:
            await third.send(GET + b"\r\n")
            answered = await third.reader.readuntil(b"}")
            refused = await first.end()

        assert answered.startswith(b"HTTP/1.1 200 ")
        assert refused.startswith(b"HTTP/1.1 408 ")
        assert not second.reader.at_eof()


async def test_connection_with_a_request_in_progress_is_kept() -> None:
    async with bounded(connections=1, **PATIENT) as site, connected(site) as asking:
        state = site.server.config.app.state  # type: ignore[union-attr]
        await asking.send(b"GET /at-work HTTP/1.1\r\nHost: a\r\n\r\n")
        await state.requested.wait()
        async with connected(site) as newcomer:
            refused = await newcomer.end()
        state.answer.set()

        assert refused == b""
        assert (await asking.reader.readline()).startswith(b"HTTP/1.1 200 ")


def test_process_with_few_file_descriptors_holds_fewer_connections() -> None:
    assert Bounds().within(1_024) == Bounds(connections=448, backlog=448)
    assert Bounds().within(1_048_576) == Bounds()
    assert Bounds().within(64).connections == 1


class Idle:
    """A connection that sends nothing."""

    def __init__(self) -> None:
        self.was_cut = False

    def is_overdue(self) -> bool:
        return False

    def cut(self) -> None:
        self.was_cut = True


def test_number_of_rejected_connections_is_logged_periodically(caplog: pytest.LogCaptureFixture) -> None:
    places = ConnectionSlots(Bounds(connections=1))
    idle = [Idle() for _ in range(5)]
    for holder in idle:
        places.take(holder)

    for _ in range(9):
        places.tick()

    assert [holder.was_cut for holder in idle] == [True] * 4 + [False]
    assert [record.getMessage() for record in caplog.records] == [
        "Connections were closed: 4 crowded out; 1 of 1 are open"
    ]
