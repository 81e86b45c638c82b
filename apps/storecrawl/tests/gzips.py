"""Hostile gzip streams: layers that decompress to nothing, several members, and data after the end."""

from __future__ import annotations

import gzip
import zlib

HEADER = b"\x1f\x8b\x08\0\0\0\0\0\0\x03"
EMPTY_BLOCK = b"\x00\x00\x00\xff\xff"
MEBIBYTE = 1024**2


def empty_gzip(megabytes: int) -> bytes:
    """Return this many megabytes of endless gzip without a single byte of content."""
    return HEADER + EMPTY_BLOCK * (megabytes * MEBIBYTE // len(EMPTY_BLOCK))


def thrice_nothing(megabytes: int) -> bytes:
    """Return the same within two more layers: a few kilobytes, whatever the size."""
    inner = _repeatable(EMPTY_BLOCK * (MEBIBYTE // len(EMPTY_BLOCK)))
    begun = _repeatable(HEADER)
    times = 512
    middle = inner * times
    return HEADER + _repeatable(HEADER + begun) + _repeatable(middle) * (megabytes // times)


def two_members(document: bytes) -> bytes:
    """Return one document in two members, each of which takes several chunks if the document is large."""
    half = len(document) // 2
    return gzip.compress(document[:half], mtime=0) + gzip.compress(document[half:], mtime=0)


def _repeatable(content: bytes) -> bytes:
    """Return a self-contained deflate block that can be repeated."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush(zlib.Z_FULL_FLUSH)
