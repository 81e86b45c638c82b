"""The demo's folder: made, proved to be writable, and held by one demo at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rolecall import ConfigError

FLAG = "--data-dir"
LOCK = "demo.lock"
PAYLOADS = "payloads"
UPSTREAM_LOG = "upstream.log"
WORKERS_LOG = "workers.log"
API_LOG = "api.log"
API_TOKEN = "local-token"  # noqa: S105 - a file's name


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold the folder for the length of the block; however the demo ends, the kernel frees it.

    Raises ConfigError for a folder that cannot be made or written, or that another demo holds.
    """
    descriptor = _open_lock(folder)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise ConfigError(f"another demo is at work in {folder}", variable=FLAG, value=folder) from None
    finally:
        os.close(descriptor)


def read_token(folder: Path) -> str | None:
    """The token with which programs and browsers of this machine come in; None where there is none."""
    try:
        return (folder / API_TOKEN).read_text("ascii").strip()
    except OSError:
        return None


def _open_lock(folder: Path) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigError(f"{folder} cannot be used: {error.strerror}", variable=FLAG, value=folder) from error
