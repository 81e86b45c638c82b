"""Response bodies designed to waste time are rejected without blocking the event loop."""

from __future__ import annotations

import asyncio
import gzip
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from random import Random
from typing import Any

import httpx2
import pytest
from storecrawl.egress import Egress, read_body
from storecrawl.images import Addresses, ImageClient, ImageRefused, ImageUnavailable
from storecrawl.platforms.dutchie import UpstreamClient
from storecrawl.platforms.errors import Malformed, TooLarge

from apps.storecrawl.tests.gzips import MEBIBYTE, empty_gzip, thrice_nothing, two_members

from .conftest import QUICK

# The timeout is unreachable: only the amount of data ends a response.
PATIENT = replace(QUICK, retries=0, timeout=3_600.0)
MOST = 64 * MEBIBYTE
NO_STORES = b'{"data": {"filteredDispensaries": []}}'
Serve = Callable[..., Awaitable[str]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Start servers that answer every request with these headers and this body, repeated if `endless`."""
    servers: list[asyncio.Server] = []

    async def start(headers: str, body: bytes, *, endless: bool = False) -> str:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            async with _close_at_end(writer):
                await reader.readuntil(b"\r\n\r\n")
                length = "" if endless else f"Content-Length: {len(body)}\r\n"
                writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{headers}{length}\r\n".encode())
                writer.write(body)
                for _ in range(MOST // len(body) if endless else 0):
                    await writer.drain()
                    writer.write(body)

        servers.append(await asyncio.start_server(answer, "127.0.0.1", 0))
        return f"http://127.0.0.1:{servers[-1].sockets[0].getsockname()[1]}"

    yield start
    for server in servers:
        server.close()


async def test_nested_content_encodings_are_rejected_without_reading(serve: Serve) -> None:
    """A few kilobytes that took a minute to decompress to nothing."""
    bomb = thrice_nothing(4_096)
    assert len(bomb) < 16_000
    url = await serve("Content-Encoding: gzip, gzip, gzip\r\n", bomb)

    with _cpu_limit(1.0), pytest.raises(Malformed, match="its coding is 'gzip, gzip, gzip'"):
        await UpstreamClient(url, options=PATIENT).stores()


async def test_image_with_nested_content_encodings_is_rejected_without_reading(serve: Serve) -> None:
    url = await serve("Content-Encoding: gzip\r\nContent-Encoding: gzip, gzip\r\n", thrice_nothing(4_096))
    client = ImageClient(Egress(), Addresses(["127.0.0.1/32"]), max_bytes=MEBIBYTE, timeout=3_600.0)

    with _cpu_limit(1.0), pytest.raises(ImageUnavailable, match="only gzip was requested"):
        await client.fetch(f"{url}/a.png")


@pytest.mark.parametrize("coding", ["br", "deflate", "zstd", "gzip, identity, br", "nonsense"])
async def test_unrequested_content_encoding_is_rejected(serve: Serve, coding: str) -> None:
    url = await serve(f"Content-Encoding: {coding}\r\n", NO_STORES)

    with pytest.raises(Malformed, match="only gzip was requested"):
        await UpstreamClient(url, options=PATIENT).stores()


async def test_single_gzip_layer_without_content_ends_at_the_byte_limit(serve: Serve) -> None:
    url = await serve("Content-Encoding: gzip\r\n", empty_gzip(1), endless=True)

    with pytest.raises(TooLarge, match="more than 16777216 bytes"):
        await UpstreamClient(url, options=PATIENT).stores()


@pytest.mark.parametrize("size", [4_000, 300_000])
async def test_response_that_decompresses_beyond_the_byte_limit_is_rejected(serve: Serve, size: int) -> None:
    packed = gzip.compress(NO_STORES + _white(size))
    url = await serve("Content-Encoding: gzip\r\n", packed)

    with pytest.raises(TooLarge, match=f"more than {len(packed)} bytes"):
        await UpstreamClient(url, options=replace(PATIENT, max_body_bytes=len(packed))).stores()


async def test_response_with_an_excessive_compression_ratio_is_rejected(serve: Serve) -> None:
    url = await serve("Content-Encoding: gzip\r\n", gzip.compress(NO_STORES + b" " * MEBIBYTE))

    with pytest.raises(TooLarge, match="more than 200 times"):
        await UpstreamClient(url, options=PATIENT).stores()


async def test_event_loop_stays_responsive_while_a_body_arrives_in_pieces() -> None:
    """If a server sends single bytes, many chunks are read in a row."""
    turns = 0

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(6_400):
            yield b"x"

    async def turn() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    turning = asyncio.create_task(turn())
    body = await read_body(httpx2.Response(200, content=pieces()), cap=6_400)
    turning.cancel()

    assert (body, turns >= 100) == (b"x" * 6_400, True)


async def test_image_without_content_ends_at_the_byte_limit(serve: Serve) -> None:
    url = await serve("Content-Encoding: gzip\r\n", empty_gzip(1), endless=True)
    client = ImageClient(Egress(), Addresses(["127.0.0.1/32"]), max_bytes=4 * MEBIBYTE, timeout=3_600.0)

    with pytest.raises(ImageRefused, match="more than 4194304 bytes"):
        await client.fetch(f"{url}/a.png")


@pytest.mark.parametrize(("size", "in_a_thread"), [(0, 0), (100_000, 1)])
async def test_only_large_responses_are_decompressed_in_a_thread(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, size: int, in_a_thread: int
) -> None:
    url = await serve("Content-Encoding: gzip\r\n", gzip.compress(NO_STORES + _white(size)))
    threads: list[str] = []
    in_thread = asyncio.to_thread

    async def count_call(work: Callable[..., Any], *args: Any) -> Any:
        threads.append(work.__name__)
        return await in_thread(work, *args)

    monkeypatch.setattr(asyncio, "to_thread", count_call)
    await UpstreamClient(url, options=PATIENT).stores()

    assert threads.count("_unpack") == in_a_thread


@pytest.mark.parametrize("size", [0, 300_000])
@pytest.mark.parametrize("pack", [gzip.compress, two_members])
async def test_response_with_one_gzip_layer_is_read(serve: Serve, size: int, pack: Callable[[bytes], bytes]) -> None:
    """Below and above the size decompressed on the event loop, in one member or in two."""
    url = await serve("Content-Encoding: gzip\r\n", pack(NO_STORES + _white(size)))

    assert await UpstreamClient(url, options=PATIENT).stores() == []


async def test_response_with_trailing_data_is_rejected(serve: Serve) -> None:
    url = await serve("Content-Encoding: gzip\r\n", gzip.compress(NO_STORES + _white(500_000)) + b"\0\0\0\0")

    with pytest.raises(Malformed, match="there is data after its end"):
        await UpstreamClient(url, options=PATIENT).stores()


async def test_only_gzip_is_requested(serve: Serve) -> None:
    requests: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with _close_at_end(writer):
            requests.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(NO_STORES), NO_STORES))

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        await UpstreamClient(f"http://127.0.0.1:{port}", options=PATIENT).stores()

    lines = [line for line in requests[0].decode().lower().split("\r\n") if line.startswith("accept-encoding:")]
    assert lines == ["accept-encoding: gzip"]


@contextmanager
def _cpu_limit(most: float) -> Iterator[None]:
    """Assert that the block, and everything else in this thread, takes at most this much CPU time."""
    began = time.thread_time()
    yield
    assert time.thread_time() - began < most


@asynccontextmanager
async def _close_at_end(writer: asyncio.StreamWriter) -> AsyncIterator[None]:
    try:
        yield
        await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


def _white(size: int) -> bytes:
    """White space that compresses badly enough not to be a bomb."""
    return bytes(Random(3).choices(b" \n\t\r", k=size))
