"""Unpack gzip piece by piece, within a bound of bytes and of ratio: files and answers alike.

GzipError
├── GzipDamaged   it is no gzip, cut short, or followed by something that is none
├── GzipTooLarge  it unpacks to more bytes than allowed
└── GzipBomb      it unpacks to more bytes for each of its own than allowed
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

__all__ = ["CHUNK", "GzipBomb", "GzipDamaged", "GzipError", "GzipTooLarge", "Limits", "gunzip"]

GZIP = 16 + zlib.MAX_WBITS
CHUNK = 64 * 1024
# Each member costs some time and may hold nothing: what has more of them is made to cost time.
MOST_MEMBERS = 1_000


class GzipError(ValueError):
    """A gzip stream that is not unpacked; `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class GzipDamaged(GzipError):
    """The stream is no gzip, or not all of it."""


class GzipTooLarge(GzipError):
    """The stream unpacks to more bytes than are allowed."""


class GzipBomb(GzipError):
    """The stream unpacks to a multiple of itself that no document does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much is unpacked at most: bytes in all, and bytes for each packed one."""

    max_bytes: int = 100 * 1024 * 1024
    max_ratio: int = 200

    def __post_init__(self) -> None:
        if self.max_bytes < 1 or self.max_ratio < 1:
            raise ValueError("limits of unpacking must be positive")

    def check(self, size: int, size_gz: int) -> None:
        """Raise GzipTooLarge or GzipBomb for `size_gz` bytes that unpack to `size` or more."""
        if size > self.max_bytes:
            raise GzipTooLarge(f"it unpacks to more than the {self.max_bytes} bytes that are allowed")
        if size > size_gz * self.max_ratio:
            raise GzipBomb(f"it unpacks to more than {self.max_ratio} times its {size_gz} bytes")


def gunzip(packed: Iterable[bytes], size_gz: int, limits: Limits) -> Iterator[bytes]:
    """Unpack a stream of `size_gz` bytes; its members, if it has several, are one document.

    Raises GzipError before the piece that goes too far is handed out. It takes time in proportion to `size_gz` and to
    what comes out, whatever the stream is made of.
    """
    size = 0
    for piece in _pieces(packed):
        size += len(piece)
        limits.check(size, size_gz)
        yield piece


def _pieces(packed: Iterable[bytes]) -> Iterator[bytes]:
    unpacker, members = zlib.decompressobj(wbits=GZIP), 1
    try:
        for piece in packed:
            rest = piece
            while rest:
                if unpacker.eof:
                    unpacker, members = _next_member(members)
                yield unpacker.decompress(rest, CHUNK)
                # After its end the library has no tail any more: what follows is not used, and begins another member.
                rest = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
        yield unpacker.flush()
    except zlib.error as problem:
        what = "something follows its end" if members > 1 else "it cannot be unpacked"
        raise GzipDamaged(f"{what} ({problem})") from None
    if not unpacker.eof:
        raise GzipDamaged("something follows its end" if members > 1 else "it is cut short")


def _next_member(members: int) -> tuple[zlib._Decompress, int]:
    if members >= MOST_MEMBERS:
        raise GzipDamaged(f"it has more than {MOST_MEMBERS} members")
    return zlib.decompressobj(wbits=GZIP), members + 1
