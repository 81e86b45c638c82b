"""Storages for files, a folder or a bucket, behind one interface. A file is either complete or does not exist.

Paths are relative and consist of plain parts; an object is written once and never changed. All methods block:
call them in a thread from async code. A bucket's credentials come from the usual AWS_* variables and are never
part of an error.
"""

from __future__ import annotations

from storecrawl.storage.errors import (
    ObjectDamaged,
    ObjectExists,
    ObjectMissing,
    ObjectOutsideRoot,
    StorageError,
    StorageUnreachable,
)
from storecrawl.storage.folder import FolderStorage, OpenedFile
from storecrawl.storage.interface import OpenedObject, Storage, StoredObject, old_objects

__all__ = [
    "FolderStorage",
    "ObjectDamaged",
    "ObjectExists",
    "ObjectMissing",
    "ObjectOutsideRoot",
    "OpenedFile",
    "OpenedObject",
    "Storage",
    "StorageError",
    "StorageUnreachable",
    "StoredObject",
    "old_objects",
]
