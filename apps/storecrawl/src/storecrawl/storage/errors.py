"""What can be wrong with an object, or with the place that keeps it.

StorageError
├── ObjectMissing       no such object
├── ObjectExists        the path is taken
├── ObjectDamaged       no plain file, or another one than was opened
├── ObjectOutsideRoot   a path that leads out of the storage, or through a link
└── StorageUnreachable  the place does not answer, or lets us not in: asking again may help
"""

from __future__ import annotations


class StorageError(Exception):
    """An object cannot be used; `path` is the path as it was asked for."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path!r}: {reason}")
        self.path = path
        self.reason = reason


class ObjectMissing(StorageError):
    """There is no such object."""


class ObjectExists(StorageError):
    """The path is taken."""


class ObjectDamaged(StorageError):
    """What lies there is no plain file, or was exchanged while it was read."""


class ObjectOutsideRoot(StorageError):
    """The path leaves the storage, or passes through a link."""


class StorageUnreachable(StorageError):
    """The place that keeps the objects does not answer as it should."""
