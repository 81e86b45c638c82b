"""The store of crawl payload files: write one, read one back checked, collect what nobody knows."""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Callable, Container
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from storecrawl.payloads.errors import PayloadCorrupt, PayloadOutsideRoot, PayloadTooLarge
from storecrawl.payloads.orphans import remove_orphans
from storecrawl.payloads.paths import open_below, payload_path
from storecrawl.payloads.unpacking import Limits, unpack
from storecrawl.payloads.writing import write_durably

try:
    from isal import igzip
except ImportError:
    _FASTER = None
else:
    _FASTER = igzip.compress

ORPHAN_AGE = timedelta(hours=24)
LEVEL = 6
FASTER_LEVEL = 3


def utc_now() -> datetime:
    """The moment by the machine's clock; it only names folders and ages orphans."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenPayload:
    """A file as it was written, for its row; sizes in bytes, the checksum is of the unpacked document."""

    path: str
    size_raw: int
    size_gz: int
    sha256: str


class PayloadStore:
    """Crawl payload files below one root folder.

    All methods do blocking file work; call them in a thread from async code.

        written = store.write(7, document, task_id=41, attempt=1)
        assert store.read(written.path, written.sha256, written.size_raw) == document
    """

    def __init__(self, root: Path, *, limits: Limits | None = None, clock: Callable[[], datetime] = utc_now) -> None:
        self._root = root
        self._limits = limits or Limits()
        self._clock = clock

    @property
    def root(self) -> Path:
        """The folder that all paths are relative to."""
        return self._root

    def write(self, store_id: int, document: bytes, *, task_id: int, attempt: int) -> WrittenPayload:
        """Write a document under a new name; when this returns, the file is whole and survives a crash.

        Raises PayloadTooLarge for a document that no reader would unpack, and OSError as it comes.
        """
        path = payload_path(store_id, task_id, attempt, self._clock().astimezone(UTC))
        packed = _pack(document)
        if len(document) > self._limits.allowed(len(packed)):
            raise PayloadTooLarge(path, f"a document of {len(document)} bytes could not be read back")
        target = self._root / path
        self._require_inside(target.parent, path)
        write_durably(target, packed)
        return WrittenPayload(
            path=path,
            size_raw=len(document),
            size_gz=len(packed),
            sha256=hashlib.sha256(document).hexdigest(),
        )

    def read(self, path: str, sha256: str, size_raw: int) -> bytes:
        """The document behind a row's path, proved to be the one that was written; or a PayloadError."""
        if size_raw > self._limits.max_bytes:
            raise PayloadTooLarge(path, f"its {size_raw} bytes are more than {self._limits.max_bytes}")
        descriptor = open_below(self._root, path)
        try:
            document = unpack(descriptor, path, self._limits, expected=size_raw)
        finally:
            os.close(descriptor)
        if len(document) != size_raw:
            raise PayloadCorrupt(path, f"it holds {len(document)} bytes, {size_raw} were written")
        if hashlib.sha256(document).hexdigest() != sha256.lower():
            raise PayloadCorrupt(path, "its checksum differs from what was written")
        return document

    def collect_orphans(self, known_paths: Container[str], older_than: timedelta = ORPHAN_AGE) -> list[str]:
        """Remove temporary files, and files without a row, older than `older_than`; return their paths.

        Read `known_paths` just before: the age is what protects a file whose row is being written.
        """
        return remove_orphans(self._root, known_paths, self._clock() - older_than)

    def _require_inside(self, folder: Path, path: str) -> None:
        if not folder.resolve().is_relative_to(self._root.resolve()):
            raise PayloadOutsideRoot(path, "its folder is a link that leads outside")


def _pack(document: bytes) -> bytes:
    """Gzip without a time of day in it, so that equal documents give equal files."""
    if _FASTER is not None:
        return _FASTER(document, FASTER_LEVEL, mtime=0)
    return gzip.compress(document, LEVEL, mtime=0)
