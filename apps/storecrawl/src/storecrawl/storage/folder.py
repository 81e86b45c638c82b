"""Objects as files below one folder.

A file is complete and synced to the disk before it gets its name. Paths are opened part by part and never
through a link.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path

from storecrawl.storage.errors import (
    ObjectDamaged,
    ObjectExists,
    ObjectMissing,
    ObjectOutsideRoot,
    StorageUnreachable,
)
from storecrawl.storage.interface import TEMPORARY_PREFIX, OpenedObject, StoredObject

CHUNK = 64 * 1024
# A disk with less is full before the files of some menus are written.
LEAST_FREE = 64 * 1024 * 1024
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, a named pipe instead of a file would block the reader.
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# Programs that read all files of a folder skip hidden ones.
HIDDEN_PREFIX = f".{TEMPORARY_PREFIX}"
# The errors of file systems without hard links.
NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS}


class FolderStorage:
    """A storage in a folder, which the first write creates."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, path: str, content: bytes) -> None:
        """Write a new file; when this returns, it survives a crash. Raises ObjectExists, and OSError."""
        try:
            write_durably(self._place(path), content)
        except FileExistsError:
            raise ObjectExists(path, "a file with this name exists") from None

    def replace(self, path: str, file: Path) -> None:
        """Replace a file; when this returns, the new one survives a crash. Raises OSError."""
        target = self._place(path)
        _make_folder(target.parent)
        temporary = target.with_name(f"{HIDDEN_PREFIX}{secrets.token_hex(16)}")
        try:
            shutil.copyfile(file, temporary)
            _sync_file(temporary)
            os.replace(temporary, target)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
        _sync_folder(target.parent)

    def open(self, path: str) -> OpenedObject:
        return OpenedFile(open_below(self.root, path))

    def exists(self, path: str) -> bool:
        try:
            self.open(path).close()
        except ObjectMissing:
            return False
        return True

    def delete(self, path: str) -> None:
        """Remove a file, or a link instead of it; the folders stay."""
        self._place(path).unlink(missing_ok=True)

    def look(self) -> None:
        """Raise StorageUnreachable if the folder cannot be written or made, or if its disk is almost full."""
        try:
            there = next(folder for folder in (self.root, *self.root.absolute().parents) if folder.exists())
            free = shutil.disk_usage(there).free
        except OSError as problem:
            raise StorageUnreachable(str(self.root), problem.strerror or str(problem)) from None
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            raise StorageUnreachable(str(self.root), f"{there} is not a folder in which this user may write")
        if free < LEAST_FREE:
            raise StorageUnreachable(str(self.root), f"its disk has only {free:,} free bytes")

    def list(self) -> Iterator[StoredObject]:
        """Yield all regular files; linked folders are not entered."""
        for folder, _, names in os.walk(self.root):
            for name in names:
                file = Path(folder, name)
                if (modified_at := _modified_at(file)) is not None:
                    yield StoredObject(path=file.relative_to(self.root).as_posix(), modified_at=modified_at)

    def _place(self, path: str) -> Path:
        target = self.root.joinpath(*parts_of(path))
        if not target.parent.resolve().is_relative_to(self.root.resolve()):
            raise ObjectOutsideRoot(path, "its folder is a link to the outside")
        return target


class OpenedFile:
    """A file with an open descriptor: it stays readable when it is removed."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.size = os.fstat(descriptor).st_size

    def pieces(self) -> Iterator[bytes]:
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        while piece := os.read(self._descriptor, CHUNK):
            yield piece

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def _modified_at(file: Path) -> datetime | None:
    """Return when a regular file was last written; None for anything else."""
    try:
        facts = file.lstat()
    except FileNotFoundError:
        return None
    return datetime.fromtimestamp(facts.st_mtime, UTC) if stat.S_ISREG(facts.st_mode) else None


def parts_of(path: str) -> list[str]:
    """Return the parts of a path. Raises ObjectOutsideRoot if it could lead elsewhere."""
    parts = path.split("/")
    if "\x00" in path or any(part in {"", ".", ".."} for part in parts):
        raise ObjectOutsideRoot(path, "it is not a plain path below the root")
    return parts


def open_below(root: Path, path: str) -> int:
    """Open a file below `root` for reading and return its descriptor.

    Every part is opened from the folder before it, without following links, so that replacing a folder meanwhile
    cannot lead outside. Raises ObjectOutsideRoot, ObjectMissing, or ObjectDamaged if it is not a regular file.
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
        raise ObjectDamaged(path, "it is not a regular file")
    return descriptor


def _open_root(root: Path, path: str, stack: ExitStack) -> int:
    try:
        folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise ObjectMissing(path, "its folder does not exist") from None
    stack.callback(os.close, folder)
    return folder


def _open_part(folder: int, part: str, flags: int, path: str) -> int:
    try:
        return os.open(part, flags, dir_fd=folder)
    except OSError as problem:
        if _is_link(folder, part):
            raise ObjectOutsideRoot(path, "a part of its path is a link") from None
        if isinstance(problem, (FileNotFoundError, NotADirectoryError)):
            raise ObjectMissing(path, "no such file") from None
        raise


def _is_link(folder: int, part: str) -> bool:
    try:
        return stat.S_ISLNK(os.lstat(part, dir_fd=folder).st_mode)
    except OSError:
        return False


def write_durably(target: Path, content: bytes) -> None:
    """Write a temporary file, fsync it, link it, and fsync the folder; an error leaves nothing behind.

    Raises FileExistsError if the name is taken.
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
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    with suppress(FileExistsError):
        os.mkdir(folder, mode=0o750)
    _sync_folder(folder.parent)


def _name(temporary: Path, target: Path) -> None:
    """Give a written file its name by a link, since a rename would replace an existing file."""
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
    _sync(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _sync_file(file: Path) -> None:
    _sync(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
