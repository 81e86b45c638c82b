"""An open crawl payload file: verified completely, then read in chunks, compressed or not."""

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
    """An open file and its row's data; close it, or use it in a `with` block.

    Only one chunk is in memory at a time. Methods block, and each starts at the file's beginning.
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
        self._opened.close()

    def document(self) -> Iterator[bytes]:
        """Yield the document. Raises PayloadCorrupt, after the last chunk at the latest, if it was modified."""
        digest, size = hashlib.sha256(), 0
        with storage_errors_as_payload_errors():
            for piece in unpack(self._opened, self._path, self._limits, expected=self.size_raw):
                digest.update(piece)
                size += len(piece)
                yield piece
        if size != self.size_raw:
            raise PayloadCorrupt(self._path, f"it has {size} bytes instead of {self.size_raw}")
        if digest.hexdigest() != self._sha256:
            raise PayloadCorrupt(self._path, "its checksum differs from that of the written document")

    def packed_bytes(self) -> Iterator[bytes]:
        """Yield the file as stored: gzip, unverified."""
        with storage_errors_as_payload_errors():
            yield from self._opened.pieces()

    def prove(self) -> None:
        """Read the document to its end; raises like `document`."""
        for _ in self.document():
            pass


def unpack(opened: OpenedObject, path: str, limits: Limits, expected: int | None = None) -> Iterator[bytes]:
    """Yield the content of an open file from its beginning, in chunks.

    Raises PayloadTooLarge or PayloadBomb beyond the limits, and PayloadCorrupt for a damaged file or more than
    `expected` bytes, before the offending chunk is yielded.
    """
    size = 0
    with gzip_errors_as_payload_errors(path):
        for piece in gunzip(opened.pieces(), opened.size, limits):
            size += len(piece)
            if expected is not None and size > expected:
                raise PayloadCorrupt(path, f"it decompresses to more than the {expected} written bytes")
            yield piece


@contextmanager
def gzip_errors_as_payload_errors(path: str) -> Iterator[None]:
    """Convert GzipError to PayloadError."""
    try:
        yield
    except GzipError as error:
        raise GZIP_MEANINGS[type(error)](path, error.reason) from None


@contextmanager
def storage_errors_as_payload_errors() -> Iterator[None]:
    """Convert StorageError, and the errors of a disk, to PayloadError."""
    try:
        yield
    except OSError as error:
        raise PayloadUnreachable(error.filename or "", error.strerror or str(error)) from error
    except StorageError as error:
        raise STORAGE_MEANINGS.get(type(error), PayloadUnreachable)(error.path, error.reason) from error
