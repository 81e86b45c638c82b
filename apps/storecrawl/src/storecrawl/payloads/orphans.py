"""Remove files that no row knows: temporary ones of killed writers, whole ones whose row never came."""

from __future__ import annotations

import os
import stat
from collections.abc import Container, Iterator
from datetime import datetime
from pathlib import Path

from storecrawl.payloads.paths import PAYLOAD_NAME, TEMPORARY_PREFIX


def remove_orphans(root: Path, known_paths: Container[str], before: datetime) -> list[str]:
    """Remove our own unknown files last written before a moment; return their paths, sorted."""
    orphans = sorted(_orphans(root, known_paths, before.timestamp()))
    return [path for path in orphans if _remove(root / path)]


def _orphans(root: Path, known_paths: Container[str], before: float) -> Iterator[str]:
    for folder, _, names in os.walk(root):
        for name in filter(_is_ours, names):
            file = Path(folder, name)
            path = file.relative_to(root).as_posix()
            if path not in known_paths and _is_older(file, before):
                yield path


def _is_ours(name: str) -> bool:
    return name.startswith(TEMPORARY_PREFIX) or PAYLOAD_NAME.fullmatch(name) is not None


def _is_older(file: Path, before: float) -> bool:
    try:
        facts = file.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISREG(facts.st_mode) and facts.st_mtime < before


def _remove(file: Path) -> bool:
    try:
        file.unlink()
    except FileNotFoundError:
        return False
    return True
