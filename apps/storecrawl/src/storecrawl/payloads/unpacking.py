"""Unpack a gzip file piece by piece, within a bound of bytes and of ratio."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from storecrawl.payloads.errors import PayloadBomb, PayloadCorrupt, PayloadTooLarge
from storecrawl.storage import OpenedObject

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

    def check(self, path: str, size: int, size_gz: int) -> None:
        """Raise PayloadTooLarge or PayloadBomb for a file of `size_gz` bytes that unpacks to `size` or more."""
        if size > self.max_bytes:
            raise PayloadTooLarge(path, f"it unpacks to more than the {self.max_bytes} bytes that are allowed")
        if size > size_gz * self.max_ratio:
            raise PayloadBomb(path, f"it unpacks to more than {self.max_ratio} times its {size_gz} bytes")


def unpacked(opened: OpenedObject, path: str, limits: Limits, expected: int | None = None) -> Iterator[bytes]:
    """The content of an open file from its beginning, piece by piece.

    Raises PayloadTooLarge or PayloadBomb beyond the limits and PayloadCorrupt for a damaged file, or for more than
    `expected` bytes, before the piece that goes too far is handed out.
    """
    size = 0
    for piece in _pieces(opened.pieces(), path):
        size += len(piece)
        limits.check(path, size, opened.size)
        if expected is not None and size > expected:
            raise PayloadCorrupt(path, f"it unpacks to more than the {expected} bytes that were written")
        yield piece


def _pieces(packed: Iterator[bytes], path: str) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(wbits=GZIP)
    try:
        for piece in packed:
            if unpacker.eof:
                raise PayloadCorrupt(path, "something follows its end")
            yield from _unpacked_piece(unpacker, piece)
        yield unpacker.flush()
    except zlib.error as problem:
        raise PayloadCorrupt(path, f"it cannot be unpacked ({problem})") from None
    if not unpacker.eof:
        raise PayloadCorrupt(path, "it is cut short")
    if unpacker.unused_data:
        raise PayloadCorrupt(path, "something follows its end")


def _unpacked_piece(unpacker: zlib._Decompress, piece: bytes) -> Iterator[bytes]:
    while piece:
        yield unpacker.decompress(piece, CHUNK)
        piece = unpacker.unconsumed_tail
