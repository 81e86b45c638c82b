"""Store images in a tree by state, store, brand and product. Names contain checksums, so nothing is written twice."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from storecrawl.images.errors import ImageUnavailable
from storecrawl.storage import ObjectExists, Storage, StorageError, old_objects

IMAGE_NAME = re.compile(r"[0-9]+(?:-[a-z0-9-]+)?_[0-9a-f]{16}\.(?:jpg|png|webp|gif)")
WORD = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagePlace:
    """The product of an image, after which the tree's folders are named."""

    state: str | None
    store_id: int
    store_name: str
    brand: str | None
    product_id: int
    product_name: str

    def path(self, sha256: str, suffix: str) -> str:
        """Return a path of plain words, numbers and the checksum."""
        store = "-".join(filter(None, (str(self.store_id), _word(self.store_name))))
        product = "-".join(filter(None, (str(self.product_id), _word(self.product_name))))
        folders = (_word(self.state or "") or "no-state", store, _word(self.brand or "") or "no-brand")
        return "/".join((*folders, f"{product}_{sha256[:16]}.{suffix}"))


class ImageStore:
    """Images in one storage. All methods block."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def write(self, place: ImagePlace, content: bytes, suffix: str) -> tuple[str, str]:
        """Store an image unless it exists; return path and checksum. Raises ImageUnavailable, OSError."""
        sha256 = hashlib.sha256(content).hexdigest()
        path = place.path(sha256, suffix)
        try:
            with suppress(ObjectExists):
                self._storage.put(path, content)
        except StorageError as error:
            raise ImageUnavailable(f"it could not be stored: {error.reason}") from error
        return path, sha256

    def old_files(self, older_than: timedelta) -> Iterator[list[str]]:
        """Yield the paths of images that are older, in batches. Those without a row are orphans."""
        is_ours = lambda name: IMAGE_NAME.fullmatch(name) is not None  # noqa: E731 - used once
        yield from old_objects(self._storage, is_ours, datetime.now(UTC) - older_than)

    def remove(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._storage.delete(path)


def _word(text: str) -> str:
    return "-".join(re.findall(r"[a-z0-9]+", text.lower()))[:WORD].strip("-")
