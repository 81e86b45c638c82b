"""An open crawl payload file: verified completely, then read in chunks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
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
from storecrawl.payloads.packing import NotPacked, read_head, unpack
from storecrawl.storage import (
    ObjectDamaged,
    ObjectMissing,
    ObjectOutsideRoot,
    OpenedObject,
    StorageError,
)
from storecrawl.storage.gunzip import GzipBomb, GzipError, GzipTooLarge, Limits

LIMIT_MEANINGS: Final[Mapping[type[GzipError], type[PayloadError]]] = {
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

    One chunk and the document of the file's base are in memory at a time. Methods block, and each starts at the
    file's beginning. `load_base` returns the document of a base by its path.
    """

    def __init__(
        self,
        opened: OpenedObject,
        path: str,
        limits: Limits,
        *,
        sha256: str,
        size_raw: int,
        load_base: Callable[[str], bytes],
    ) -> None:
        self._opened = opened
        self._path = path
        self._limits = limits
        self._sha256 = sha256.lower()
        self._load_base = load_base
        self._base: bytes | None = None
        self.base_path: str | None = None
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
            for piece in self._unpacked():
                digest.update(piece)
                size += len(piece)
                yield piece
        if size != self.size_raw:
            raise PayloadCorrupt(self._path, f"it has {size} bytes instead of {self.size_raw}")
        if digest.hexdigest() != self._sha256:
            raise PayloadCorrupt(self._path, "its checksum differs from that of the written document")

    def prove(self) -> None:
        """Read the document to its end, and `base_path` with it; raises like `document`."""
        for _ in self.document():
            pass

    def _unpacked(self) -> Iterator[bytes]:
        """Yield the content; nothing beyond the limits or the size of the row."""
        size = 0
        with format_errors_as_payload_errors(self._path):
            self.base_path, rest = read_head(self._opened.pieces())
            if self.base_path is not None and self._base is None:
                self._base = self._load_base(self.base_path)
            source = self._opened.size + len(self._base or b"")
            for piece in unpack(rest, self._base):
                size += len(piece)
                self._limits.check(size, source)
                if size > self.size_raw:
                    raise PayloadCorrupt(self._path, f"it decompresses to more than the {self.size_raw} written bytes")
                yield piece


@contextmanager
def format_errors_as_payload_errors(path: str) -> Iterator[None]:
    """Convert NotPacked, and the errors of limits, to PayloadError."""
    try:
        yield
    except NotPacked as error:
        raise PayloadCorrupt(path, str(error)) from None
    except GzipError as error:
        raise LIMIT_MEANINGS[type(error)](path, error.reason) from None


@contextmanager
def storage_errors_as_payload_errors() -> Iterator[None]:
    """Convert StorageError, and the errors of a disk, to PayloadError."""
    try:
        yield
    except OSError as error:
        raise PayloadUnreachable(error.filename or "", error.strerror or str(error)) from error
    except StorageError as error:
        raise STORAGE_MEANINGS.get(type(error), PayloadUnreachable)(error.path, error.reason) from error
