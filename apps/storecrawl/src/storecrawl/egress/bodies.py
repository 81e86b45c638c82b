"""Read an answer's body: at most so many bytes, packed by gzip or not at all, and never long on the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import httpx2

from storecrawl.storage.gunzip import CHUNK, GzipBomb, GzipError, GzipTooLarge, Limits, gunzip

__all__ = ["ACCEPTED", "BodyTooLarge", "BodyUnreadable", "read_body"]

ACCEPTED = "gzip"
GZIP = frozenset({"gzip", "x-gzip"})
# At the highest ratio it is four megabytes, some milliseconds; more is unpacked in a thread.
MOST_ON_THE_LOOP = 20_000
# A server that sends its bytes one by one has many pieces read at once: the loop turns in between.
PIECES_A_TURN = 64


class BodyTooLarge(Exception):
    """A body has more bytes than are read, as it came or unpacked."""


class BodyUnreadable(Exception):
    """A body came in a coding that was not asked for, or in one that it is not."""


async def read_body(response: httpx2.Response, cap: int) -> bytes:
    """Return the body, unpacked. Raises BodyTooLarge, BodyUnreadable, httpx2.HTTPError.

    The library would unpack up to five codings, one around the other, on the loop and without a bound: two kilobytes
    keep it busy for a minute.
    """
    is_packed = _is_packed(response)
    raw = await _raw(response, cap)
    if not is_packed or not raw:
        return raw
    try:
        if len(raw) <= MOST_ON_THE_LOOP:
            return _unpacked(raw, cap)
        return await asyncio.to_thread(_unpacked, raw, cap)
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
        raise BodyUnreadable(f"it is coded as {', '.join(codings)[:100]!r}, where only {ACCEPTED} was asked for")
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


def _unpacked(raw: bytes, cap: int) -> bytes:
    return b"".join(gunzip(_cut(raw), len(raw), Limits(max_bytes=cap)))


def _cut(raw: bytes) -> Iterator[bytes]:
    return (raw[first : first + CHUNK] for first in range(0, len(raw), CHUNK))
