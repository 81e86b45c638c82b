"""The only way to a file below a folder: part by part, never through a link."""

from __future__ import annotations

import os
import stat
from contextlib import ExitStack
from pathlib import Path

from storecrawl.storage.errors import ObjectDamaged, ObjectMissing, ObjectOutsideRoot

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK a named pipe put in the place of a file would hang the reader.
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def parts_of(path: str) -> list[str]:
    """The parts of a path. Raises ObjectOutsideRoot for one that could mean another place."""
    parts = path.split("/")
    if "\x00" in path or any(part in {"", ".", ".."} for part in parts):
        raise ObjectOutsideRoot(path, "it is not a plain path below the root")
    return parts


def open_below(root: Path, path: str) -> int:
    """Open a file below `root` for reading and return its descriptor.

    Every part is opened from the folder before it with links refused, so that no exchange of a folder
    in between can lead outside. Raises ObjectOutsideRoot, ObjectMissing, or ObjectDamaged for what is
    no plain file.
    """
    *folders, name = parts_of(path)
    with ExitStack() as stack:
        folder = _open_root(root, path, stack)
        for part in folders:
            folder = _open_part(folder, part, _FOLDER_FLAGS, path)
            stack.callback(os.close, folder)
        descriptor = _open_part(folder, name, _FILE_FLAGS, path)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ObjectDamaged(path, "it is no plain file")
    return descriptor


def _open_root(root: Path, path: str, stack: ExitStack) -> int:
    try:
        folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise ObjectMissing(path, "the folder that it should lie in does not exist") from None
    stack.callback(os.close, folder)
    return folder


def _open_part(folder: int, part: str, flags: int, path: str) -> int:
    try:
        return os.open(part, flags, dir_fd=folder)
    except OSError as problem:
        if _is_link(folder, part):
            raise ObjectOutsideRoot(path, "a part of its path is a link") from None
        if isinstance(problem, (FileNotFoundError, NotADirectoryError)):
            raise ObjectMissing(path, "there is no such file") from None
        raise


def _is_link(folder: int, part: str) -> bool:
    try:
        return stat.S_ISLNK(os.lstat(part, dir_fd=folder).st_mode)
    except OSError:
        return False
