"""The two file locks: presence on `attach.lock` (shared), and the right to start or stop on `start.lock` (exclusive).

Both are `flock`s, which the kernel releases when their holder dies. Python opens files close-on-exec, so neither
Postgres nor any other program started from here inherits one.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rolecall.embedded.errors import LockTimeout
from rolecall.embedded.process import wait_until


@contextmanager
def exclusive(path: Path, seconds: float) -> Iterator[None]:
    """Hold the lock exclusively during the block. Raises `LockTimeout` after `seconds`."""
    descriptor = _open(path)
    try:
        if not wait_until(lambda: _try_lock(descriptor, fcntl.LOCK_EX), seconds):
            raise LockTimeout(path, seconds)
        yield
    finally:
        _unlock(descriptor)


class Presence:
    """The shared lock of an attached process. Used only under the start lock."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._owner = os.getpid()

    @property
    def is_held(self) -> bool:
        """True if this process took the lock; the copy in a forked child does not count."""
        return self._descriptor is not None and self._owner == os.getpid()

    def enter(self) -> None:
        self._forget_inherited()
        if self._descriptor is None:
            self._descriptor = _open(self._path)
            self._owner = os.getpid()
            fcntl.flock(self._descriptor, fcntl.LOCK_SH)

    def is_last(self) -> bool:
        """Return whether no other process holds the lock."""
        return self._descriptor is not None and _try_lock(self._descriptor, fcntl.LOCK_EX)

    def leave(self) -> None:
        self._forget_inherited()
        if self._descriptor is not None:
            _unlock(self._descriptor)
            self._descriptor = None

    def _forget_inherited(self) -> None:
        # unlocking a descriptor shared with the parent would end the parent's presence; closing does not
        if self._descriptor is not None and self._owner != os.getpid():
            os.close(self._descriptor)
            self._descriptor = None


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _try_lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _unlock(descriptor: int) -> None:
    # explicit, because a child that another thread is starting shares the lock until its exec
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)
