"""Menus of platforms other than the first: what customers see at the current step, one document per product."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec

from storecrawl.demo.upstream.product_document import Listing
from storecrawl.demo.upstream.stores import WorldStore
from storecrawl.demo.upstream.world import World

Document = dict[str, Any]


class ListedMenus:
    """Writes the menus of one platform and caches the last used ones."""

    def __init__(self, world: World, document: Callable[[Listing], Document]) -> None:
        self._world = world
        self._document = document
        self._encode = msgspec.json.Encoder().encode
        self._written = lru_cache(maxsize=world.options.cached_menus)(self._write)

    def page(self, store: WorldStore, first: int, count: int) -> tuple[list[msgspec.Raw], int]:
        """Return at most `count` documents from the `first` on, and the number of all."""
        written = self._written(store, self._world.clock.step)
        return [msgspec.Raw(each) for each in written[first : first + count]], len(written)

    def _write(self, store: WorldStore, step: int) -> list[bytes]:
        return [self._encode(self._document(listing)) for listing in self._world.shown_listings(store, step)]
