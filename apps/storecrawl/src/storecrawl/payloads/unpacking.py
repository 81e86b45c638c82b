"""Unpack a gzip file piece by piece, within a bound of bytes and of ratio."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from storecrawl.payloads.errors import PayloadCorrupt, PayloadTooLarge

GZIP = 16 + zlib.MAX_WBITS
CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a reader unpacks at most: bytes in all, and bytes for each byte of the file."""

    max_bytes: int = 100 * 1024 * 1024
    max_ratio: int = 200

    def __post_init__(self) -> None:
        if self.max_bytes < 1 or self.max_ratio < 1:
            raise ValueError("limits of unpacking must be positive")

    def allowed(self, size_gz: int) -> int:
        """The bytes that a file of `size_gz` bytes may unpack to."""
        return min(self.max_bytes, size_gz * self.max_ratio)


def unpack(descriptor: int, path: str, limits: Limits, expected: int | None = None) -> bytes:
    """The unpacked content of an open file, which stays open.

    Raises PayloadTooLarge beyond the limits and PayloadCorrupt for a damaged file, or for more than
    `expected` bytes; neither holds more in memory than the limit, or the expected size, and a chunk.
    """
    allowed = limits.allowed(os.fstat(descriptor).st_size)
    content = bytearray()
    for piece in _pieces(descriptor, path):
        content += piece
        if len(content) > allowed:
            raise PayloadTooLarge(path, f"it unpacks to more than {allowed} bytes")
        if expected is not None and len(content) > expected:
            raise PayloadCorrupt(path, f"it unpacks to more than the {expected} bytes that were written")
    return bytes(content)


def _pieces(descriptor: int, path: str) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(wbits=GZIP)
    try:
        while packed := unpacker.unconsumed_tail or os.read(descriptor, CHUNK):
            if unpacker.eof:
                raise PayloadCorrupt(path, "something follows its end")
            yield unpacker.decompress(packed, CHUNK)
        yield unpacker.flush()
    except zlib.error as problem:
        raise PayloadCorrupt(path, f"it cannot be unpacked ({problem})") from None
    if not unpacker.eof:
        raise PayloadCorrupt(path, "it is cut short")
    if unpacker.unused_data:
        raise PayloadCorrupt(path, "something follows its end")
