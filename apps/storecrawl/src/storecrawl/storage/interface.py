"""What a storage can do, and which of its objects may be orphans."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Protocol

__all__ = ["TEMPORARY_PREFIX", "OpenedObject", "Storage", "StoredObject", "old_objects"]

BATCH = 1_000
# What a killed writer leaves behind is called so.
TEMPORARY_PREFIX = "tmp."


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """An object in a listing; what a killed writer left is one too."""

    path: str
    modified_at: datetime


class OpenedObject(Protocol):
    """An object held open; nothing of it is kept in memory but a piece."""

    @property
    def size(self) -> int:
        """Its bytes, as they were when it was opened."""

    def pieces(self) -> Iterator[bytes]:
        """The content from its beginning, each time anew. Raises StorageError."""

    def close(self) -> None:
        """Let go of it, once."""


class Storage(Protocol):
    """A place that keeps files. Every method raises StorageError, and OSError for a disk's own trouble."""

    def put(self, path: str, content: bytes) -> None:
        """Keep a new object; when this returns it survives a crash. Raises ObjectExists and leaves what is there."""

    def open(self, path: str) -> OpenedObject:
        """Open an object. Raises ObjectMissing, ObjectDamaged, ObjectOutsideRoot."""

    def exists(self, path: str) -> bool:
        """Say whether there is such an object."""

    def delete(self, path: str) -> None:
        """Remove an object; one that is not there is removed already."""

    def list(self) -> Iterator[StoredObject]:
        """All objects, in no order, none of them before it is asked for."""


def old_objects(storage: Storage, is_ours: Callable[[str], bool], before: datetime) -> Iterator[list[str]]:
    """Paths last written before a moment, in batches: of names that are ours, and what killed writers left."""
    paths = (each.path for each in storage.list() if each.modified_at < before and _may_go(each.path, is_ours))
    while batch := list(islice(paths, BATCH)):
        yield batch


def _may_go(path: str, is_ours: Callable[[str], bool]) -> bool:
    name = path.rpartition("/")[2]
    return name.startswith(TEMPORARY_PREFIX) or is_ours(name)
