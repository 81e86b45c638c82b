"""Read payload files without the code that writes them."""

from __future__ import annotations

import struct
from pathlib import Path

import zstandard

SKIPPABLE = b"\x50\x2a\x4d\x18"


def base_of(file: Path) -> str | None:
    """Return the path of a file's base; None for a full file."""
    packed = file.read_bytes()
    if not packed.startswith(SKIPPABLE):
        return None
    return packed[8 : 8 + struct.unpack("<I", packed[4:8])[0]].decode()


def document_of(root: Path, path: str) -> bytes:
    """Return the document of a file below `root`."""
    packed, base = (root / path).read_bytes(), base_of(root / path)
    if base is None:
        return zstandard.decompress(packed)
    known = zstandard.ZstdCompressionDict(document_of(root, base), dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    return zstandard.ZstdDecompressor(dict_data=known).decompress(packed[8 + len(base) :])
