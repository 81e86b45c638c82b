"""What pages show of menus: worked out once, since a crawl payload never changes and people look at it many times."""

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
    """Keeps what was worked out for the last few keys that were asked for."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[K, V] = OrderedDict()

    async def get(self, key: K, work_out: Callable[[], Awaitable[V]]) -> V:
        """Return what is kept, else what is worked out now."""
        value = self._kept[key] if key in self._kept else await work_out()
        self._kept[key] = value
        self._kept.move_to_end(key)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What a server keeps of menus; a payload is known by its checksum."""

    diffs: Recent[tuple[str, str], MenuDiff] = field(default_factory=lambda: Recent(MOST_DIFFS))
    groups: Recent[tuple[str, GroupBy], list[MenuGroup]] = field(default_factory=lambda: Recent(MOST_GROUPS))


@dataclass(frozen=True, slots=True)
class Menus:
    """Comparisons of menus and what they come to. Raises RequestRefused for a file that is not what was written."""

    kept: Kept
    resources: Resources

    async def diff(self, earlier: StoredPayload, later: StoredPayload) -> MenuDiff:
        """What became of one menu in another."""

        async def compare() -> MenuDiff:
            before, after = await self.resources.menu(earlier), await self.resources.menu(later)
            return await asyncio.to_thread(diff_payloads, before, after)

        return await self.kept.diffs.get((earlier.sha256, later.sha256), compare)

    async def groups(self, payload: StoredPayload, group_by: GroupBy) -> list[MenuGroup]:
        """What a menu's products come to by brand or category, the largest group first."""

        async def sum_up() -> list[MenuGroup]:
            return aggregate(rows_of(await self.resources.menu(payload)), group_by)

        return await self.kept.groups.get((payload.sha256, group_by), sum_up)


@dataclass(frozen=True, slots=True)
class KeepMenus:
    """The dependency of a whole router that hands its routes what is kept."""

    kept: Kept = field(default_factory=Kept)

    async def __call__(self, request: Request) -> None:
        request.state.kept_menus = self.kept


def _menus(request: Request, resources: HasResources) -> Menus:
    return Menus(request.state.kept_menus, resources)


HasMenus = Annotated[Menus, Depends(_menus)]
