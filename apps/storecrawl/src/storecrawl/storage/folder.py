"""Objects as files below one folder, each synced to the disk before it has its name."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from storecrawl.storage.durable import write_durably
from storecrawl.storage.errors import ObjectExists, ObjectMissing, ObjectOutsideRoot
from storecrawl.storage.interface import OpenedObject, StoredObject
from storecrawl.storage.paths import open_below, parts_of

CHUNK = 64 * 1024


class FolderStorage:
    """A storage in a folder, which is made by the first write."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, path: str, content: bytes) -> None:
        """Write a new file; when this returns it survives a crash. Raises ObjectExists, and OSError as it comes."""
        try:
            write_durably(self._place(path), content)
        except FileExistsError:
            raise ObjectExists(path, "there is a file of this name") from None

    def open(self, path: str) -> OpenedObject:
        """Open a file. Raises ObjectMissing, ObjectDamaged, ObjectOutsideRoot."""
        return OpenedFile(open_below(self.root, path))

    def exists(self, path: str) -> bool:
        """Say whether there is such a file."""
        try:
            self.open(path).close()
        except ObjectMissing:
            return False
        return True

    def delete(self, path: str) -> None:
        """Remove a file, or the link in its place; the folders stay."""
        self._place(path).unlink(missing_ok=True)

    def list(self) -> Iterator[StoredObject]:
        """All plain files; linked folders are not entered."""
        for folder, _, names in os.walk(self.root):
            for name in names:
                file = Path(folder, name)
                if (modified_at := _modified_at(file)) is not None:
                    yield StoredObject(path=file.relative_to(self.root).as_posix(), modified_at=modified_at)

    def _place(self, path: str) -> Path:
        target = self.root.joinpath(*parts_of(path))
        if not target.parent.resolve().is_relative_to(self.root.resolve()):
            raise ObjectOutsideRoot(path, "its folder is a link that leads outside")
        return target


class OpenedFile:
    """A file held open by its descriptor: it stays readable when it is removed."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.size = os.fstat(descriptor).st_size

    def pieces(self) -> Iterator[bytes]:
        """The content from its beginning."""
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        while piece := os.read(self._descriptor, CHUNK):
            yield piece

    def close(self) -> None:
        """Close the file, once."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def _modified_at(file: Path) -> datetime | None:
    """When a plain file was last written; None for anything else."""
    try:
        facts = file.lstat()
    except FileNotFoundError:
        return None
    return datetime.fromtimestamp(facts.st_mtime, UTC) if stat.S_ISREG(facts.st_mode) else None
