"""Write a file so that it is either wholly there under its name, and on disk, or not there at all."""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import suppress
from pathlib import Path

TEMPORARY_PREFIX = "tmp."
# What a file system says that knows no second name for a file.
NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS}


def write_durably(target: Path, content: bytes) -> None:
    """Temporary name beside it, fsync, link, fsync of the folder; an error leaves nothing behind.

    Raises FileExistsError where the name is taken.
    """
    _make_folder(target.parent)
    temporary = target.with_name(f"{TEMPORARY_PREFIX}{secrets.token_hex(16)}")
    try:
        _write_new(temporary, content)
        _name(temporary, target)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
    _sync_folder(target.parent)


def _make_folder(folder: Path) -> None:
    """Make a folder and those above it, each entered durably in its parent."""
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    with suppress(FileExistsError):
        os.mkdir(folder, mode=0o750)
    _sync_folder(folder.parent)


def _name(temporary: Path, target: Path) -> None:
    """Give a written file its name: by a link, which fails where a rename would replace what is there."""
    try:
        os.link(temporary, target)
    except OSError as problem:
        if problem.errno not in NO_LINKS:
            raise
        if target.exists():
            raise FileExistsError(errno.EEXIST, "the name is taken") from None
        os.rename(temporary, target)


def _write_new(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o640)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
