"""Decompress gzip in chunks, within limits of size and ratio, for files and responses.

GzipError
├── GzipDamaged   not gzip, cut, or followed by something else
├── GzipTooLarge  more decompressed bytes than allowed
└── GzipBomb      a higher compression ratio than allowed
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

GZIP = 16 + zlib.MAX_WBITS
CHUNK = 64 * 1024
# Each member takes time and may be empty; a stream with more of them is made to waste time.
MOST_MEMBERS = 1_000


class GzipError(ValueError):
    """A gzip stream that is rejected; `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class GzipDamaged(GzipError):
    """The stream is not gzip, or incomplete."""


class GzipTooLarge(GzipError):
    """The stream has more decompressed bytes than allowed."""


class GzipBomb(GzipError):
    """The stream has a higher compression ratio than any document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of decompression: total bytes, and bytes per compressed byte."""

    max_bytes: int = 100 * 1024 * 1024
    max_ratio: int = 200

    def __post_init__(self) -> None:
        if self.max_bytes < 1 or self.max_ratio < 1:
            raise ValueError("limits of decompression must be positive")

    def check(self, size: int, size_gz: int) -> None:
        """Raise GzipTooLarge or GzipBomb if `size_gz` bytes must not decompress to `size` bytes."""
        if size > self.max_bytes:
            raise GzipTooLarge(f"it decompresses to more than the limit of {self.max_bytes} bytes")
        if size > size_gz * self.max_ratio:
            raise GzipBomb(f"it decompresses to more than {self.max_ratio} times its {size_gz} bytes")


def gunzip(packed: Iterable[bytes], size_gz: int, limits: Limits) -> Iterator[bytes]:
    """Decompress a stream of `size_gz` bytes; several members are one document.

    Raises GzipError before the offending chunk is yielded. Takes time in proportion to `size_gz` and to the output,
    whatever the stream contains.
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
                # After the end of a member, the library has no tail: the rest is unused and starts another member.
                rest = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
        yield unpacker.flush()
    except zlib.error as problem:
        what = "there is data after its end" if members > 1 else "it cannot be decompressed"
        raise GzipDamaged(f"{what} ({problem})") from None
    if not unpacker.eof:
        raise GzipDamaged("there is data after its end" if members > 1 else "it is incomplete")


def _next_member(members: int) -> tuple[zlib._Decompress, int]:
    if members >= MOST_MEMBERS:
        raise GzipDamaged(f"it has more than {MOST_MEMBERS} members")
    return zlib.decompressobj(wbits=GZIP), members + 1
