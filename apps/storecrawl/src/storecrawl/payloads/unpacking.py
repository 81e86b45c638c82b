"""Unpack a crawl payload file, with what is wrong with it told as a PayloadError."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from storecrawl.gunzip import GzipBomb, GzipDamaged, GzipError, GzipTooLarge, Limits, gunzip
from storecrawl.payloads.errors import PayloadBomb, PayloadCorrupt, PayloadError, PayloadTooLarge
from storecrawl.storage import OpenedObject

__all__ = ["Limits", "unpacked", "unpacking"]

MEANINGS: Final[Mapping[type[GzipError], type[PayloadError]]] = {
    GzipDamaged: PayloadCorrupt,
    GzipTooLarge: PayloadTooLarge,
    GzipBomb: PayloadBomb,
}


def unpacked(opened: OpenedObject, path: str, limits: Limits, expected: int | None = None) -> Iterator[bytes]:
    """The content of an open file from its beginning, piece by piece.

    Raises PayloadTooLarge or PayloadBomb beyond the limits and PayloadCorrupt for a damaged file, or for more than
    `expected` bytes, before the piece that goes too far is handed out.
    """
    size = 0
    with unpacking(path):
        for piece in gunzip(opened.pieces(), opened.size, limits):
            size += len(piece)
            if expected is not None and size > expected:
                raise PayloadCorrupt(path, f"it unpacks to more than the {expected} bytes that were written")
            yield piece


@contextmanager
def unpacking(path: str) -> Iterator[None]:
    """Raise the PayloadError that a GzipError means."""
    try:
        yield
    except GzipError as error:
        raise MEANINGS[type(error)](path, error.reason) from None
