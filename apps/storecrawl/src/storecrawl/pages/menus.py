"""Cached results about menus, since crawl payloads never change and are viewed often."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import Annotated, Generic, TypeVar

from fastapi import Depends, Request

from storecrawl.catalog import MenuDiff, StoredPayload, diff_payloads
from storecrawl.serving.resources import HasResources, Resources, shared_object

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

# The largest comparisons take some megabytes.
MOST_DIFFS = 8


class Recent(Generic[K, V]):
    """A cache of the results for the last few keys."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[K, V] = OrderedDict()

    async def get(self, key: K, compute: Callable[[], Awaitable[V]]) -> V:
        value = self._values[key] if key in self._values else await compute()
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._most:
            self._values.popitem(last=False)
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class MenuCaches:
    """A server's cached results; payloads are identified by their checksum."""

    diffs: Recent[tuple[str, str], MenuDiff] = field(default_factory=lambda: Recent(MOST_DIFFS))


@dataclass(frozen=True, slots=True)
class Menus:
    """Comparisons of menus. Raises RequestRefused if a file was modified."""

    caches: MenuCaches
    resources: Resources

    async def diff(self, earlier: StoredPayload, later: StoredPayload) -> MenuDiff:

        async def compare() -> MenuDiff:
            before, after = await self.resources.menu(earlier), await self.resources.menu(later)
            return await asyncio.to_thread(diff_payloads, before, after)

        return await self.caches.diffs.get((earlier.sha256, later.sha256), compare)


async def _menus(request: Request, resources: HasResources) -> Menus:
    return Menus(shared_object(request, MenuCaches, MenuCaches), resources)


HasMenus = Annotated[Menus, Depends(_menus)]
