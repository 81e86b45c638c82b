"""A folder in memory for the server of a test session. Each test creates and removes hundreds of files there."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import psutil

MEMORY = Path("/dev/shm")  # noqa: S108 - each session creates a private folder in it
PREFIX = "rolecall-tests-"
ENOUGH = 4 * 1024**3
ABANDONED_AFTER = 86_400.0


def room() -> Path | None:
    """Return the folder for this session's server, shared by pytest-xdist, or None without enough memory."""
    if not MEMORY.is_dir() or min(shutil.disk_usage(MEMORY).free, psutil.virtual_memory().available) < ENOUGH:
        return None
    _forget_abandoned()
    return _folder()


def forget() -> None:
    """Remove this session's folder. Its server has been stopped by then."""
    shutil.rmtree(_folder(), ignore_errors=True)


def _folder() -> Path:
    session = os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()
    return MEMORY / f"{PREFIX}{session}"


def _forget_abandoned() -> None:
    # A server whose folder is removed exits.
    for folder in MEMORY.glob(f"{PREFIX}*"):
        try:
            if time.time() - folder.stat().st_mtime > ABANDONED_AFTER:
                shutil.rmtree(folder, ignore_errors=True)
        except FileNotFoundError:
            continue
