"""Finds the objects that may be orphans: ours by their names, and too old to be waiting for their row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import islice

from storecrawl.storage.interface import Storage
from storecrawl.storage.writing import TEMPORARY_PREFIX

BATCH = 1_000


def old_objects(storage: Storage, is_ours: Callable[[str], bool], before: datetime) -> Iterator[list[str]]:
    """Paths last written before a moment, in batches: of names that are ours, and what killed writers left."""
    paths = (each.path for each in storage.list() if each.modified_at < before and _may_go(each.path, is_ours))
    while batch := list(islice(paths, BATCH)):
        yield batch


def _may_go(path: str, is_ours: Callable[[str], bool]) -> bool:
    name = path.rpartition("/")[2]
    return name.startswith(TEMPORARY_PREFIX) or is_ours(name)
