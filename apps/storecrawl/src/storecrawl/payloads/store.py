"""Crawl payload files: write them, read or open them verified, find orphans, remove."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Self

from storecrawl.payloads.errors import (
    PayloadCorrupt,
    PayloadError,
    PayloadMissing,
    PayloadTooLarge,
    PayloadUnreachable,
)
from storecrawl.payloads.names import Kind, answer_path, content_path, is_payload_name, sha256_of_path
from storecrawl.payloads.opened import (
    OpenedPayload,
    format_errors_as_payload_errors,
    storage_errors_as_payload_errors,
)
from storecrawl.payloads.packing import MOST_OF_A_DELTA, Base, pack, read_head, unpack
from storecrawl.storage import ObjectExists, OpenedObject, Storage, old_objects
from storecrawl.storage.gunzip import Limits

log = logging.getLogger(__name__)

# The highest ratio of a menu's document to its file, or to its file and its base.
MENU_RATIO = 1_000
RAW_TIMES = 4
# Responses of untrusted servers may be arbitrarily repetitive and are stored anyway: zstd has no higher
# ratio.
ANY_RATIO = 200_000
# A delta must be smaller than this part of its base's file. Deltas grow with the distance to the base, so that a
# full file is due from time to time.
FULL_SHARE = 4


def utc_now() -> datetime:
    """Return the machine's time, which only names folders and ages orphans."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenPayload:
    """A stored file, for its row; sizes are in bytes, the checksum is of the decompressed document.

    `size_gz` is the size of the file. A delta cannot be read without the file at `base_path`.
    """

    path: str
    size_raw: int
    size_gz: int
    sha256: str
    base_path: str | None = None


class PayloadStore:
    """Crawl payload files in one storage.

    All methods block; call them in a thread from async code.

        written = store.write(7, document, task_id=41, attempt=1)
        assert store.read(written.path, written.sha256, written.size_raw) == document
    """

    def __init__(
        self, storage: Storage, *, limits: Limits | None = None, clock: Callable[[], datetime] = utc_now
    ) -> None:
        self._storage = storage
        self._limits = limits or Limits(max_ratio=MENU_RATIO)
        self._clock = clock

    def with_limits(self, limits: Limits) -> Self:
        """Return the same files with other limits for reading."""
        return type(self)(self._storage, limits=limits, clock=self._clock)

    def with_raw_limits(self) -> Self:
        """Return the same files with the limits of raw menus, which contain a product once per list and mode."""
        limits = replace(self._limits, max_bytes=RAW_TIMES * self._limits.max_bytes, max_ratio=ANY_RATIO)
        return self.with_limits(limits)

    def write(
        self, store_id: int, document: bytes, *, task_id: int, attempt: int, base: str | None = None
    ) -> WrittenPayload:
        """Store a document under its checksum; when this returns, the file is complete and survives a crash.

        An existing file with the same document is verified and used. A new one is a delta if that is much smaller:
        the difference to the full file at the path `base`, if that can be read. Task and attempt are named in the
        warning about a damaged file that is replaced. Raises PayloadTooLarge or PayloadBomb for a document that
        readers would reject, and PayloadUnreachable.
        """
        return self._write(store_id, document, "json", base, f"task {task_id}, attempt {attempt}")

    def write_raw(
        self, store_id: int, document: bytes, *, task_id: int, attempt: int, base: str | None = None
    ) -> WrittenPayload:
        """Write the responses of which a payload is made, like `write`, with higher limits."""
        origin = f"task {task_id}, attempt {attempt}"
        return self.with_raw_limits()._write(store_id, document, "raw", base, origin)  # noqa: SLF001 - the same class

    def write_again(
        self, store_id: int, path: str, sha256: str, size_raw: int, *, task_id: int, attempt: int
    ) -> WrittenPayload:  # sizes: its owner, and the columns of the earlier row
        """Verify the file of an earlier row for another row. Raises PayloadError.

        A file that is not named by its checksum is written again.
        """
        with self.open(path, sha256, size_raw) as opened:
            if path == content_path(store_id, sha256, "json"):
                return _written(path, opened, sha256)
            document = b"".join(opened.document())
        return self.write(store_id, document, task_id=task_id, attempt=attempt)

    def write_answer(self, document: bytes, *, task_id: int, attempt: int) -> WrittenPayload:
        """Write a response to discovery under a new name, with the same guarantees as `write`."""
        path = answer_path(task_id, attempt, self._clock().astimezone(UTC))
        return self._put(path, document, hashlib.sha256(document).hexdigest())

    def read(self, path: str, sha256: str, size_raw: int) -> bytes:
        """Return the verified document of a row. Raises PayloadError."""
        with self._open(path, sha256, size_raw) as opened:
            return b"".join(opened.document())

    def open(self, path: str, sha256: str, size_raw: int) -> OpenedPayload:
        """Open and verify the file of a row. Raises PayloadError."""
        opened = self._open(path, sha256, size_raw)
        try:
            opened.prove()
        except BaseException:
            opened.close()
            raise
        return opened

    def look(self) -> None:
        """Raise PayloadUnreachable if the storage is away."""
        with storage_errors_as_payload_errors():
            self._storage.look()

    def exists(self, path: str) -> bool:
        """Return whether a file exists, whatever its content."""
        with storage_errors_as_payload_errors():
            return self._storage.exists(path)

    def old_files(self, older_than: timedelta) -> Iterator[list[str]]:
        """Yield paths of our files older than `older_than`, in batches: those that no row needs are orphans.

        The age protects a file whose row is being written.
        """
        with storage_errors_as_payload_errors():
            yield from old_objects(self._storage, is_payload_name, self._clock() - older_than)

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files; missing ones are ignored."""
        with storage_errors_as_payload_errors():
            for path in paths:
                self._storage.delete(path)

    def _write(  # sizes: a document, its place, and the two that make a delta of it
        self, store_id: int, document: bytes, kind: Kind, base_path: str | None, origin: str
    ) -> WrittenPayload:
        sha256 = hashlib.sha256(document).hexdigest()
        path = content_path(store_id, sha256, kind)
        try:
            return self._existing(path, sha256, len(document))
        except PayloadMissing:
            pass
        except PayloadUnreachable:
            raise
        except PayloadError as trouble:
            log.warning("The damaged file is replaced (%s): %s", origin, trouble)
            self.remove([path])
        return self._put(path, document, sha256, self._usable_base(base_path))

    def _existing(self, path: str, sha256: str, size_raw: int) -> WrittenPayload:
        with self.open(path, sha256, size_raw) as opened:
            return _written(path, opened, sha256)

    def _put(self, path: str, document: bytes, sha256: str, base: Base | None = None) -> WrittenPayload:
        """Write a new file, or use that of another writer that was faster; raises like `write`."""
        packed, base = _smaller(document, base)
        with format_errors_as_payload_errors(path):
            self._limits.check(len(document), len(packed) + (len(base.document) if base else 0))
        with storage_errors_as_payload_errors():
            try:
                self._storage.put(path, packed)
            except ObjectExists:
                return self._existing(path, sha256, len(document))
        return WrittenPayload(
            path=path,
            size_raw=len(document),
            size_gz=len(packed),
            sha256=sha256,
            base_path=base.path if base else None,
        )

    def _open(self, path: str, sha256: str, size_raw: int) -> OpenedPayload:
        if size_raw > self._limits.max_bytes:
            raise PayloadTooLarge(path, f"its {size_raw} bytes exceed the limit of {self._limits.max_bytes}")
        with storage_errors_as_payload_errors():
            opened = self._storage.open(path)
        return OpenedPayload(
            opened, path, self._limits, sha256=sha256, size_raw=size_raw, load_base=self._base_document
        )

    def _usable_base(self, path: str | None) -> Base | None:
        try:
            return None if path is None else self._load_base(path)
        except PayloadError as trouble:
            log.warning("A full file is written, since its base cannot be used: %s", trouble)
            return None

    def _base_document(self, path: str) -> bytes:
        return self._load_base(path).document

    def _load_base(self, path: str) -> Base:
        with storage_errors_as_payload_errors():
            opened = self._storage.open(path)
            try:
                document = _whole(path, opened)
            finally:
                opened.close()
        if hashlib.sha256(document).hexdigest() != sha256_of_path(path):
            raise PayloadCorrupt(path, "its checksum is not that of its name")
        return Base(path=path, size=opened.size, document=document)


def _written(path: str, opened: OpenedPayload, sha256: str) -> WrittenPayload:
    return WrittenPayload(
        path=path,
        size_raw=opened.size_raw,
        size_gz=opened.size_gz,
        sha256=sha256,
        base_path=opened.base_path,
    )


def _smaller(document: bytes, base: Base | None) -> tuple[bytes, Base | None]:
    """Pack a document as a delta if that is small enough, and return its base; otherwise whole."""
    if base is not None and base.suits(document):
        delta = pack(document, base)
        if len(delta) * FULL_SHARE <= base.size:
            return delta, base
    return pack(document), None


def _whole(path: str, opened: OpenedObject) -> bytes:
    """Return the document of a full file, if a delta may have one of its size as base."""
    limits, size, document = Limits(max_bytes=MOST_OF_A_DELTA, max_ratio=ANY_RATIO), 0, []
    with format_errors_as_payload_errors(path):
        base_path, rest = read_head(opened.pieces())
        if base_path is not None:
            raise PayloadCorrupt(path, "it is the base of another file and has a base itself")
        for piece in unpack(rest, None):
            size += len(piece)
            limits.check(size, opened.size)
            document.append(piece)
    return b"".join(document)
