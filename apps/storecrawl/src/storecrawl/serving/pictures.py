"""Images for routes: read from the storage, resized a few at a time, and cached for a while."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request

from rolecall.web import RequestRefused
from storecrawl.catalog import StoredImage
from storecrawl.images import ImageGone, ImageLimits, ImageStore, ImageUnavailable, Rendition, resize
from storecrawl.serving.resources import HasCrawler, shared_object

AT_ONCE = 2
CACHED_BYTES = 32 * 1024 * 1024


class Cache:
    """The most recently used results, up to a total of bytes."""

    def __init__(self, most: int = CACHED_BYTES) -> None:
        self._most = most
        self._cached_bytes = 0
        self._results: OrderedDict[tuple[str, Rendition], bytes] = OrderedDict()

    def get(self, key: tuple[str, Rendition]) -> bytes | None:
        if key in self._results:
            self._results.move_to_end(key)
        return self._results.get(key)

    def put(self, key: tuple[str, Rendition], content: bytes) -> None:
        self._cached_bytes += len(content) - len(self._results.pop(key, b""))
        self._results[key] = content
        while self._cached_bytes > self._most:
            _, removed_content = self._results.popitem(last=False)
            self._cached_bytes -= len(removed_content)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """Provides images to requests."""

    files: ImageStore
    limits: ImageLimits
    limit: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    cache: Cache = field(default_factory=Cache)

    async def original(self, image: StoredImage) -> bytes:
        try:
            return await asyncio.to_thread(self.files.read, image.path, image.sha256)
        except ImageGone as error:
            raise RequestRefused(f"image {image.id}: {error}", status=410, kind="image-gone") from error
        except ImageUnavailable as error:
            raise RequestRefused(f"image {image.id}: {error}", status=503, kind="image-unreachable") from error

    async def resize(self, image: StoredImage, rendition: Rendition) -> bytes:
        """Return an image in the requested size and format. Raises RequestRefused."""
        key = (image.sha256, rendition)
        async with self.limit:
            if (known := self.cache.get(key)) is not None:
                return known
            content = await self.original(image)
            try:
                resized_content = await asyncio.to_thread(resize, content, rendition, self.limits)
            except ImageGone as error:
                raise RequestRefused(f"image {image.id}: {error}", status=410, kind="image-gone") from error
            self.cache.put(key, resized_content)
            return resized_content


async def _pictures(request: Request, crawler: HasCrawler) -> Pictures:
    limits = ImageLimits(max_bytes=crawler.settings.image_bytes)
    return shared_object(request, Pictures, lambda: Pictures(files=crawler.image_files, limits=limits))


HasPictures = Annotated[Pictures, Depends(_pictures)]
