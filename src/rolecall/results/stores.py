"""The interface of object stores, and their addresses."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from rolecall.extras import require
from rolecall.model.errors import ConfigError
from rolecall.results.folder import FolderStore


class ObjectStore(Protocol):
    """Stores complete objects by name. Both methods block and raise ResultMissing."""

    @property
    def url(self) -> str:
        """The address of the store for pointers, without secrets."""

    def put(self, path: str, content: bytes) -> None: ...

    def get(self, path: str) -> bytes: ...


def open_store(where: str | Path) -> ObjectStore:
    """Return the store at an address: `s3://BUCKET/PREFIX`, or a folder. Raises ConfigError."""
    text = str(where)
    if not text.startswith("s3://"):
        return FolderStore(Path(text.removeprefix("file://")))
    require("s3", variable="results")
    from rolecall.results.bucket import BucketStore  # noqa: PLC0415 - its package is an extra

    parts = urlsplit(text)
    if not parts.netloc:
        raise ConfigError(f"{text!r} names no bucket", variable="results", value=text)
    return BucketStore(parts.netloc, parts.path.strip("/"))
