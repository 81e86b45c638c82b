"""Crawl payload files: write them, read or open them verified, find orphans, remove."""

from __future__ import annotations

import gzip
import hashlib
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Self

from storecrawl.payloads.errors import PayloadTooLarge
from storecrawl.payloads.opened import OpenedPayload, gzip_errors_as_payload_errors, storage_errors_as_payload_errors
from storecrawl.storage import Storage, old_objects
from storecrawl.storage.gunzip import Limits

try:
    from isal import igzip
except ImportError:
    _FASTER = None
else:
    _FASTER = igzip.compress

LEVEL = 6
FASTER_LEVEL = 3
RAW_TIMES = 4
# Responses of untrusted servers may be arbitrarily repetitive and are stored anyway: gzip has no higher
# ratio.
ANY_RATIO = 1_100
PAYLOAD_NAME = re.compile(r"(?:store_[0-9]+|discovery)_[0-9]+_[0-9]+_[0-9a-f]{16}\.(?:json|raw)\.gz")


def utc_now() -> datetime:
    """Return the machine's time, which only names folders and ages orphans."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenPayload:
    """A written file, for its row; sizes are in bytes, the checksum is of the decompressed document."""

    path: str
    size_raw: int
    size_gz: int
    sha256: str


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
        self._limits = limits or Limits()
        self._clock = clock

    def with_limits(self, limits: Limits) -> Self:
        """Return the same files with other limits for reading."""
        return type(self)(self._storage, limits=limits, clock=self._clock)

    def write(self, store_id: int, document: bytes, *, task_id: int, attempt: int) -> WrittenPayload:
        """Write a document under a new name; when this returns, the file is complete and survives a crash.

        Raises PayloadTooLarge or PayloadBomb for a document that readers would reject, and PayloadUnreachable.
        """
        return self._write(payload_path(store_id, task_id, attempt, self._clock().astimezone(UTC)), document)

    def write_again(
        self, store_id: int, path: str, sha256: str, size_raw: int, *, task_id: int, attempt: int
    ) -> WrittenPayload:  # sizes: its owner, and the columns of the earlier row
        """Copy the document of a row to a new name, like `write`. Raises PayloadError."""
        with self.open(path, sha256, size_raw) as opened:
            packed = b"".join(opened.packed_bytes())
        again = payload_path(store_id, task_id, attempt, self._clock().astimezone(UTC))
        with storage_errors_as_payload_errors():
            self._storage.put(again, packed)
        return WrittenPayload(path=again, size_raw=size_raw, size_gz=len(packed), sha256=sha256)

    def write_raw(self, store_id: int, document: bytes, *, task_id: int, attempt: int) -> WrittenPayload:
        """Write the responses of which a payload is made, like `write`, with higher limits."""
        path = raw_path(store_id, task_id, attempt, self._clock().astimezone(UTC))
        return self._write(path, document, self._raw_limits)

    def with_raw_limits(self) -> Self:
        """Return the same files with the limits of raw menus, which contain a product once per list and mode."""
        return self.with_limits(self._raw_limits)

    @property
    def _raw_limits(self) -> Limits:
        return replace(self._limits, max_bytes=RAW_TIMES * self._limits.max_bytes, max_ratio=ANY_RATIO)

    def write_answer(self, document: bytes, *, task_id: int, attempt: int) -> WrittenPayload:
        """Write a response to discovery, like `write`."""
        return self._write(answer_path(task_id, attempt, self._clock().astimezone(UTC)), document)

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
        """Yield paths of our files older than `older_than`, in batches: those without a row are orphans.

        The age protects a file whose row is being written.
        """
        with storage_errors_as_payload_errors():
            yield from old_objects(self._storage, is_payload_name, self._clock() - older_than)

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files; missing ones are ignored."""
        with storage_errors_as_payload_errors():
            for path in paths:
                self._storage.delete(path)

    def _write(self, path: str, document: bytes, limits: Limits | None = None) -> WrittenPayload:
        packed = _pack(document)
        with gzip_errors_as_payload_errors(path):
            (limits or self._limits).check(len(document), len(packed))
        with storage_errors_as_payload_errors():
            self._storage.put(path, packed)
        return WrittenPayload(
            path=path,
            size_raw=len(document),
            size_gz=len(packed),
            sha256=hashlib.sha256(document).hexdigest(),
        )

    def _open(self, path: str, sha256: str, size_raw: int) -> OpenedPayload:
        if size_raw > self._limits.max_bytes:
            raise PayloadTooLarge(path, f"its {size_raw} bytes exceed the limit of {self._limits.max_bytes}")
        with storage_errors_as_payload_errors():
            opened = self._storage.open(path)
        return OpenedPayload(opened, path, self._limits, sha256=sha256, size_raw=size_raw)


def _pack(document: bytes) -> bytes:
    """Gzip without a timestamp, so that equal documents result in equal files."""
    if _FASTER is not None:
        return _FASTER(document, FASTER_LEVEL, mtime=0)
    return gzip.compress(document, LEVEL, mtime=0)


def payload_path(store_id: int, task_id: int, attempt: int, at: datetime) -> str:
    """Return a new path in the folder of the UTC day of `at`."""
    return _new_path(f"store_{store_id:d}", task_id, attempt, at)


def raw_path(store_id: int, task_id: int, attempt: int, at: datetime) -> str:
    """Return a new path for the responses of which a payload is made."""
    return _new_path(f"store_{store_id:d}", task_id, attempt, at, kind="raw")


def answer_path(task_id: int, attempt: int, at: datetime) -> str:
    """Return a new path for a response to discovery, which belongs to no store."""
    return _new_path("discovery", task_id, attempt, at)


def is_payload_name(name: str) -> bool:
    """Return whether a file's name is one of ours."""
    return PAYLOAD_NAME.fullmatch(name) is not None


def _new_path(what: str, task_id: int, attempt: int, at: datetime, *, kind: str = "json") -> str:
    return f"{at:%Y}/{at:%m}/{at:%d}/{what}_{task_id:d}_{attempt:d}_{secrets.token_hex(8)}.{kind}.gz"
