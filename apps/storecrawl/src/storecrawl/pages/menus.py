"""Cached results about menus, since crawl payloads never change and are viewed often."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import Annotated, Generic, TypeVar

from fastapi import Depends, Request

from storecrawl.catalog import MenuDiff, StoredPayload, diff_payloads
from storecrawl.catalog.menu_query import GroupBy, MenuGroup, aggregate, rows_of
from storecrawl.serving.resources import HasResources, Resources

__all__ = ["HasMenus", "KeepMenus", "Menus"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

# The largest comparisons take some megabytes.
MOST_DIFFS = 8
MOST_GROUPS = 64


class Recent(Generic[K, V]):
    """A cache of the results for the last few keys."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[K, V] = OrderedDict()

    async def get(self, key: K, work_out: Callable[[], Awaitable[V]]) -> V:
        value = self._kept[key] if key in self._kept else await work_out()
        self._kept[key] = value
        self._kept.move_to_end(key)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A server's cached results; payloads are identified by their checksum."""

    diffs: Recent[tuple[str, str], MenuDiff] = field(default_factory=lambda: Recent(MOST_DIFFS))
    groups: Recent[tuple[str, GroupBy], list[MenuGroup]] = field(default_factory=lambda: Recent(MOST_GROUPS))


@dataclass(frozen=True, slots=True)
class Menus:
    """Comparisons and totals of menus. Raises RequestRefused if a file was modified."""

    kept: Kept
    resources: Resources

    async def diff(self, earlier: StoredPayload, later: StoredPayload) -> MenuDiff:

        async def compare() -> MenuDiff:
            before, after = await self.resources.menu(earlier), await self.resources.menu(later)
            return await asyncio.to_thread(diff_payloads, before, after)

        return await self.kept.diffs.get((earlier.sha256, later.sha256), compare)

    async def groups(self, payload: StoredPayload, group_by: GroupBy) -> list[MenuGroup]:
        """Return a menu's totals by brand or category, the largest group first."""

        async def sum_up() -> list[MenuGroup]:
            return aggregate(rows_of(await self.resources.menu(payload)), group_by)

        return await self.kept.groups.get((payload.sha256, group_by), sum_up)


@dataclass(frozen=True, slots=True)
class KeepMenus:
    """The dependency that provides the cached results to a whole router."""

    kept: Kept = field(default_factory=Kept)

    async def __call__(self, request: Request) -> None:
        request.state.kept_menus = self.kept


def _menus(request: Request, resources: HasResources) -> Menus:
    return Menus(request.state.kept_menus, resources)


HasMenus = Annotated[Menus, Depends(_menus)]
