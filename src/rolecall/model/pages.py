"""One page of a list, and the opaque text with which the next one is asked for."""

from __future__ import annotations

import binascii
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Generic, TypeVar

from rolecall.model.errors import InvalidCursor

__all__ = ["Page", "read_cursor", "write_cursor"]

T = TypeVar("T")

POSITION = struct.Struct(">Bq")
CHECK = struct.Struct(">I")
VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """Some items of a list, and the cursor of the next page; None where the list ends.

    A page may be short, even empty, and yet have a next one: what it costs is bounded, not only how long it is.
    """

    items: list[T]
    next_cursor: str | None = None


def write_cursor(position: int) -> str:
    """Write the id before which the next page begins; whoever holds it need not understand it."""
    packed = POSITION.pack(VERSION, position)
    return urlsafe_b64encode(packed + CHECK.pack(binascii.crc32(packed))).decode().rstrip("=")


def read_cursor(text: str) -> int:
    """Read what `write_cursor` wrote. Raises InvalidCursor for anything else."""
    try:
        raw = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
        version, position = POSITION.unpack(raw[: POSITION.size])
        (check,) = CHECK.unpack(raw[POSITION.size :])
    except (ValueError, struct.error):
        raise InvalidCursor(text) from None
    if version != VERSION or check != binascii.crc32(raw[: POSITION.size]) or write_cursor(position) != text:
        raise InvalidCursor(text)
    return int(position)
