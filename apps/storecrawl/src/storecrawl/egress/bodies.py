"""Read a response body of limited size, uncompressed or gzip, without blocking the event loop for long."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import httpx2

from storecrawl.storage.gunzip import CHUNK, GzipBomb, GzipError, GzipTooLarge, Limits, gunzip

ACCEPTED = "gzip"
GZIP = frozenset({"gzip", "x-gzip"})
# At the highest ratio this unpacks to 4 MB in a few milliseconds; more is unpacked in a thread.
MOST_ON_THE_LOOP = 20_000
# A server that sends single bytes causes many reads in a row; the event loop runs in between.
PIECES_A_TURN = 64


class BodyTooLarge(Exception):
    """A body exceeds the limit, compressed or decompressed."""


class BodyUnreadable(Exception):
    """A body has a coding that was not requested, or is not in the coding that it declares."""


async def read_body(response: httpx2.Response, cap: int) -> bytes:
    """Return the decompressed body. Raises BodyTooLarge, BodyUnreadable, httpx2.HTTPError.

    The HTTP library would undo up to five nested codings on the event loop without a limit, so that two
    kilobytes could block it for a minute.
    """
    is_packed = _is_packed(response)
    raw = await _raw(response, cap)
    if not is_packed or not raw:
        return raw
    try:
        if len(raw) <= MOST_ON_THE_LOOP:
            return _unpack(raw, cap)
        return await asyncio.to_thread(_unpack, raw, cap)
    except GzipTooLarge as error:
        raise _too_large(cap) from error
    except GzipBomb as error:
        raise BodyTooLarge(error.reason) from error
    except GzipError as error:
        raise BodyUnreadable(f"its gzip is damaged: {error.reason}") from error


def _is_packed(response: httpx2.Response) -> bool:
    named = response.headers.get_list("content-encoding", split_commas=True)
    codings = [coding.strip().lower() for coding in named if coding.strip().lower() not in {"", "identity"}]
    if len(codings) > 1 or not GZIP.issuperset(codings):
        raise BodyUnreadable(f"its coding is {', '.join(codings)[:100]!r}, only {ACCEPTED} was requested")
    return bool(codings)


async def _raw(response: httpx2.Response, cap: int) -> bytes:
    raw, pieces = bytearray(), 0
    async for piece in response.aiter_raw():
        raw += piece
        if len(raw) > cap:
            raise _too_large(cap)
        pieces += 1
        if pieces % PIECES_A_TURN == 0:
            await asyncio.sleep(0)
    return bytes(raw)


def _too_large(cap: int) -> BodyTooLarge:
    return BodyTooLarge(f"it has more than {cap} bytes")


def _unpack(raw: bytes, cap: int) -> bytes:
    return b"".join(gunzip(_cut(raw), len(raw), Limits(max_bytes=cap)))


def _cut(raw: bytes) -> Iterator[bytes]:
    return (raw[first : first + CHUNK] for first in range(0, len(raw), CHUNK))
