"""The interface of storages, and the search for orphans."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Protocol

BATCH = 1_000
# The prefix of files that killed writers leave.
TEMPORARY_PREFIX = "tmp."


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """An object in a listing, or a file that a killed writer left."""

    path: str
    modified_at: datetime


class OpenedObject(Protocol):
    """An open object; only a chunk of it is in memory."""

    @property
    def size(self) -> int:
        """The number of bytes when it was opened."""

    def pieces(self) -> Iterator[bytes]:
        """Yield the content, each time from its beginning. Raises StorageError."""

    def close(self) -> None:
        """Close the object, once."""


class Storage(Protocol):
    """A storage for files. Every method raises StorageError, and OSError for problems of a disk."""

    def put(self, path: str, content: bytes) -> None:
        """Store a new object durably. Raises ObjectExists without changing the existing one."""

    def replace(self, path: str, file: Path) -> None:
        """Copy a local file to an object at once: readers see the former object, if there is one, or the new one."""

    def open(self, path: str) -> OpenedObject:
        """Open an object. Raises ObjectMissing, ObjectDamaged, ObjectOutsideRoot."""

    def exists(self, path: str) -> bool:
        """Return whether an object exists."""

    def delete(self, path: str) -> None:
        """Remove an object; a missing one is ignored."""

    def look(self) -> None:
        """Raise StorageUnreachable if the storage is away, or seems to accept no objects. Writes nothing."""

    def list(self) -> Iterator[StoredObject]:
        """Yield all objects lazily, in no particular order."""


def old_objects(storage: Storage, is_ours: Callable[[str], bool], before: datetime) -> Iterator[list[str]]:
    """Yield paths last written before a time, in batches: those with our names, and files that killed writers left."""
    paths = (each.path for each in storage.list() if each.modified_at < before and _may_go(each.path, is_ours))
    while batch := list(islice(paths, BATCH)):
        yield batch


def _may_go(path: str, is_ours: Callable[[str], bool]) -> bool:
    name = path.rpartition("/")[2]
    return name.startswith(TEMPORARY_PREFIX) or is_ours(name)
