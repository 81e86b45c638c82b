"""A crawl payload file held open: proved whole first, then handed out piece by piece, packed or not."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Final, Self

from storecrawl.payloads.errors import (
    PayloadBomb,
    PayloadCorrupt,
    PayloadError,
    PayloadMissing,
    PayloadOutsideRoot,
    PayloadTooLarge,
    PayloadUnreachable,
)
from storecrawl.storage import (
    ObjectDamaged,
    ObjectMissing,
    ObjectOutsideRoot,
    OpenedObject,
    StorageError,
)
from storecrawl.storage.gunzip import GzipBomb, GzipDamaged, GzipError, GzipTooLarge, Limits, gunzip

__all__ = ["Limits", "unpacked", "unpacking"]

GZIP_MEANINGS: Final[Mapping[type[GzipError], type[PayloadError]]] = {
    GzipDamaged: PayloadCorrupt,
    GzipTooLarge: PayloadTooLarge,
    GzipBomb: PayloadBomb,
}
STORAGE_MEANINGS: Final[Mapping[type[StorageError], type[PayloadError]]] = {
    ObjectMissing: PayloadMissing,
    ObjectDamaged: PayloadCorrupt,
    ObjectOutsideRoot: PayloadOutsideRoot,
}


class OpenedPayload:
    """An open file and what its row says of it; to be closed, or used in a `with` block.

    Nothing is ever held but a piece. The methods block, and each begins at the file's start.
    """

    def __init__(self, opened: OpenedObject, path: str, limits: Limits, *, sha256: str, size_raw: int) -> None:
        self._opened = opened
        self._path = path
        self._limits = limits
        self._sha256 = sha256.lower()
        self.size_raw = size_raw
        self.size_gz = opened.size

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, once."""
        self._opened.close()

    def document(self) -> Iterator[bytes]:
        """The document; raises PayloadCorrupt, at the latest after the last piece, if it is not what was written."""
        digest, size = hashlib.sha256(), 0
        with as_payload_errors():
            for piece in unpacked(self._opened, self._path, self._limits, expected=self.size_raw):
                digest.update(piece)
                size += len(piece)
                yield piece
        if size != self.size_raw:
            raise PayloadCorrupt(self._path, f"it holds {size} bytes, {self.size_raw} were written")
        if digest.hexdigest() != self._sha256:
            raise PayloadCorrupt(self._path, "its checksum differs from what was written")

    def packed(self) -> Iterator[bytes]:
        """The file as it is kept: gzip, unproved."""
        with as_payload_errors():
            yield from self._opened.pieces()

    def prove(self) -> None:
        """Read the document to its end; raises like `document`."""
        for _ in self.document():
            pass


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
        raise GZIP_MEANINGS[type(error)](path, error.reason) from None


@contextmanager
def as_payload_errors() -> Iterator[None]:
    """Raise the PayloadError that a StorageError means."""
    try:
        yield
    except StorageError as error:
        raise STORAGE_MEANINGS.get(type(error), PayloadUnreachable)(error.path, error.reason) from error
