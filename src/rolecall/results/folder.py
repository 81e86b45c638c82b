"""A store of objects as files in a folder."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from rolecall.embedded.home import sync_folder
from rolecall.model.errors import ResultMissing


class FolderStore:
    """Objects as files in a folder. Each is written under a temporary name, synced and renamed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.expanduser().absolute()

    @property
    def url(self) -> str:
        return self._folder.as_uri()

    def put(self, path: str, content: bytes) -> None:
        """Store an object. Raises ResultMissing."""
        draft = self._folder / f".{path}.{secrets.token_hex(8)}"
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write(draft, content)
            draft.replace(self._folder / path)
            sync_folder(self._folder)
        except OSError as error:
            with suppress(OSError):
                draft.unlink()
            raise _unreachable(path, error) from None

    def get(self, path: str) -> bytes:
        """Read an object. Raises ResultMissing."""
        try:
            return (self._folder / path).read_bytes()
        except OSError as error:
            raise _unreachable(path, error) from None


def _unreachable(path: str, error: OSError) -> ResultMissing:
    return ResultMissing(f"the object {path} cannot be stored or read: {error.strerror or type(error).__name__}")


def _write(file: Path, content: bytes) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(content)
        opened.flush()
        os.fsync(descriptor)
