"""Names of crawl payload files, and the only way to open one: below the root, never through a link."""

from __future__ import annotations

import os
import re
import secrets
import stat
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

from storecrawl.payloads.errors import PayloadCorrupt, PayloadMissing, PayloadOutsideRoot

TEMPORARY_PREFIX = "tmp."
PAYLOAD_NAME = re.compile(r"store_[0-9]+_[0-9]+_[0-9]+_[0-9a-f]{16}\.json\.gz")

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK a named pipe put in the place of a file would hang the reader.
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def payload_path(store_id: int, task_id: int, attempt: int, at: datetime) -> str:
    """A new path, relative to the root: made of numbers and chance only, by the UTC day of `at`."""
    name = f"store_{store_id:d}_{task_id:d}_{attempt:d}_{secrets.token_hex(8)}.json.gz"
    return f"{at:%Y}/{at:%m}/{at:%d}/{name}"


def open_below(root: Path, path: str) -> int:
    """Open a file below `root` for reading and return its descriptor.

    Every part is opened from the folder before it with links refused, so that no exchange of a folder
    in between can lead outside. Raises PayloadOutsideRoot, PayloadMissing, or PayloadCorrupt for what is
    no plain file.
    """
    *folders, name = _parts(path)
    with ExitStack() as stack:
        folder = _open_root(root, path, stack)
        for part in folders:
            folder = _open_part(folder, part, _FOLDER_FLAGS, path)
            stack.callback(os.close, folder)
        descriptor = _open_part(folder, name, _FILE_FLAGS, path)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise PayloadCorrupt(path, "it is no plain file")
    return descriptor


def _parts(path: str) -> list[str]:
    parts = path.split("/")
    if "\x00" in path or any(part in {"", ".", ".."} for part in parts):
        raise PayloadOutsideRoot(path, "it is not a plain path below the root")
    return parts


def _open_root(root: Path, path: str, stack: ExitStack) -> int:
    try:
        folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise PayloadMissing(path, "the folder of crawl payloads does not exist") from None
    stack.callback(os.close, folder)
    return folder


def _open_part(folder: int, part: str, flags: int, path: str) -> int:
    try:
        return os.open(part, flags, dir_fd=folder)
    except OSError as problem:
        if _is_link(folder, part):
            raise PayloadOutsideRoot(path, f"{part!r} is a link") from None
        if isinstance(problem, (FileNotFoundError, NotADirectoryError)):
            raise PayloadMissing(path, "there is no such file") from None
        raise


def _is_link(folder: int, part: str) -> bool:
    try:
        return stat.S_ISLNK(os.lstat(part, dir_fd=folder).st_mode)
    except OSError:
        return False
