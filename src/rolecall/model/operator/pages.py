"""Pages of lists, and the opaque cursors that request the next page."""

from __future__ import annotations

import binascii
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Generic, TypeVar

from rolecall.model.errors import InvalidCursor

T = TypeVar("T")

POSITION = struct.Struct(">q")
CHECK = struct.Struct(">I")
# The first byte of a cursor.
BY_ID, BY_TEXT = 1, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """Items of a list and the cursor of the next page; None at the end of the list.

    A page may be short or empty and still have a next one, because the work per page is limited.
    """

    items: list[T]
    next_cursor: str | None = None


def position(cursor: str | None) -> int | None:
    """Return the id after which a page starts; None for the first page. Raises InvalidCursor."""
    return None if cursor is None else read_cursor(cursor)


def page_by_id(rows: Sequence[T], limit: int, id_of: Callable[[T], int] = attrgetter("id")) -> Page[T]:
    """Make a page from rows that were read with a limit of one more; the extra row shows that there is a next page."""
    items = list(rows[:limit])
    return Page(items=items, next_cursor=write_cursor(id_of(items[-1])) if len(rows) > limit else None)


def write_cursor(position: int) -> str:
    """Encode the id before which the next page starts, as an opaque text."""
    return _written(BY_ID, POSITION.pack(position))


def read_cursor(text: str) -> int:
    """Decode a cursor of `write_cursor`. Raises InvalidCursor."""
    packed = _read(BY_ID, text)
    if len(packed) != POSITION.size:
        raise InvalidCursor(text)
    return int(POSITION.unpack(packed)[0])


def write_text_cursor(position: str) -> str:
    """Encode the text after which the next page starts, for a list in the order of texts."""
    return _written(BY_TEXT, position.encode())


def read_text_cursor(text: str) -> str:
    """Decode a cursor of `write_text_cursor`. Raises InvalidCursor."""
    try:
        return _read(BY_TEXT, text).decode()
    except UnicodeDecodeError:
        raise InvalidCursor(text) from None


def _written(kind: int, position: bytes) -> str:
    packed = bytes([kind]) + position
    return urlsafe_b64encode(packed + CHECK.pack(binascii.crc32(packed))).decode().rstrip("=")


def _read(kind: int, text: str) -> bytes:
    try:
        raw = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except ValueError:
        raise InvalidCursor(text) from None
    position = raw[1 : -CHECK.size]
    if _written(kind, position) != text:
        raise InvalidCursor(text)
    return position
