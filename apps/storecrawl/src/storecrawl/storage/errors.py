"""Errors of objects and storages.

StorageError
├── ObjectMissing       no such object
├── ObjectExists        the path is taken
├── ObjectDamaged       not a regular file, or not the one that was opened
├── ObjectOutsideRoot   a path that leaves the storage, or passes through a link
└── StorageUnreachable  the storage does not respond or rejects us: a retry may help
"""

from __future__ import annotations


class StorageError(Exception):
    """An object cannot be used; `path` is the requested path."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path!r}: {reason}")
        self.path = path
        self.reason = reason


class ObjectMissing(StorageError):
    """No such object."""


class ObjectExists(StorageError):
    """The path is taken."""


class ObjectDamaged(StorageError):
    """Not a regular file, or replaced while it was read."""


class ObjectOutsideRoot(StorageError):
    """The path leaves the storage, or passes through a link."""


class StorageUnreachable(StorageError):
    """The storage does not respond, or with an error."""
