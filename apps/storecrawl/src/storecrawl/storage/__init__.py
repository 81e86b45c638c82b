"""Where files are kept, a folder or a bucket, behind one interface: whole under their name, or not there at all.

A path is relative, made of plain parts; an object is written once and never changed. All methods block: call them in
a thread from async code. Credentials of a bucket come from the usual AWS_* variables and are never told by an error.
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
