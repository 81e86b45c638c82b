"""The format of payload files: one zstd frame, or the difference to another file.

A delta begins with a skippable frame with the path of its base, whose document is the dictionary of the zstd
frame. `zstd -d --patch-from` reads it, and `zstd -d` reads all other files.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import zstandard

LEVEL = 3
# Window of reader and writer in bytes: base and document of a delta fit in it together.
WINDOW_LOG = 26
MOST_OF_A_DELTA = 1 << WINDOW_LOG
SKIPPABLE = struct.Struct("<II")
SKIPPABLE_MAGIC = 0x184D2A50
LONGEST_PATH = 200
BASE_PATH = re.compile(rb"[A-Za-z0-9_./-]+")
# A piece of input of this size decompresses to at most 16 MiB: 128 blocks of 128 KiB.
PIECE = 512


class NotPacked(ValueError):
    """The content is not a complete file in this format; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """A full file whose document is the dictionary of deltas; `size` is that of the file in bytes."""

    path: str
    size: int
    document: bytes

    def suits(self, document: bytes) -> bool:
        """Return whether a delta of the document may be made: both must fit in the window."""
        return len(self.document) + len(document) <= MOST_OF_A_DELTA


def pack(document: bytes, base: Base | None = None) -> bytes:
    """Compress a document, as a delta if a base is given. Equal arguments give equal bytes."""
    known = base.document if base is not None else b""
    window = min(WINDOW_LOG, max(zstandard.WINDOWLOG_MIN, (len(document) + len(known)).bit_length()))
    parameters = zstandard.ZstdCompressionParameters.from_level(
        LEVEL, window_log=window, source_size=len(document), dict_size=len(known)
    )
    packed = zstandard.ZstdCompressor(dict_data=_dictionary(base), compression_params=parameters).compress(document)
    return packed if base is None else _head(base.path) + packed


def read_head(pieces: Iterable[bytes]) -> tuple[str | None, Iterator[bytes]]:
    """Return the path of a file's base, None for a full file, and the rest of the file. Raises NotPacked."""
    rest = iter(pieces)
    start = _at_least(b"", SKIPPABLE.size, rest)
    if len(start) < SKIPPABLE.size:
        raise NotPacked("it is incomplete")
    magic, length = SKIPPABLE.unpack_from(start)
    if magic != SKIPPABLE_MAGIC:
        return None, _chain(start, rest)
    if length > LONGEST_PATH:
        raise NotPacked("the name of its base is too long")
    end = SKIPPABLE.size + length
    start = _at_least(start, end, rest)
    path = start[SKIPPABLE.size : end]
    if len(start) < end or not BASE_PATH.fullmatch(path):
        raise NotPacked("it does not name its base")
    return path.decode("ascii"), _chain(start[end:], rest)


def unpack(pieces: Iterable[bytes], base: bytes | None) -> Iterator[bytes]:
    """Yield the document of a frame in chunks of at most 16 MiB. Raises NotPacked for anything but one frame."""
    dictionary = _raw_dictionary(base) if base is not None else None
    unpacker = zstandard.ZstdDecompressor(dict_data=dictionary, max_window_size=1 << WINDOW_LOG).decompressobj()
    try:
        for piece in pieces:
            for first in range(0, len(piece), PIECE):
                if unpacker.eof:
                    raise NotPacked("there is data after its end")
                if unpacked := unpacker.decompress(piece[first : first + PIECE]):
                    yield unpacked
    except zstandard.ZstdError as problem:
        raise NotPacked(f"it cannot be decompressed ({problem})") from None
    if unpacker.unused_data:
        raise NotPacked("there is data after its end")
    if not unpacker.eof:
        raise NotPacked("it is incomplete")


def _head(path: str) -> bytes:
    return SKIPPABLE.pack(SKIPPABLE_MAGIC, len(path)) + path.encode("ascii")


def _dictionary(base: Base | None) -> zstandard.ZstdCompressionDict | None:
    return None if base is None else _raw_dictionary(base.document)


def _raw_dictionary(document: bytes) -> zstandard.ZstdCompressionDict:
    return zstandard.ZstdCompressionDict(document, dict_type=zstandard.DICT_TYPE_RAWCONTENT)


def _at_least(start: bytes, length: int, rest: Iterator[bytes]) -> bytes:
    while len(start) < length and (piece := next(rest, b"")):
        start += piece
    return start


def _chain(start: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if start:
        yield start
    yield from rest
