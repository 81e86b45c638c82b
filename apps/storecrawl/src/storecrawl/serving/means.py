"""What the routes work with: the crawl payload files, and a bounded way to read menus out of them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Self

from fastapi import Depends, Request

from storecrawl.catalog import RawMenu, StoredPayload, open_payload, open_raw_menu, read_menu
from storecrawl.catalog.normalize import Menu
from storecrawl.payloads import Limits, OpenedPayload, PayloadStore
from storecrawl.serving.refusals import told

__all__ = ["HasMeans", "Means", "Providing"]

# A parsed document takes some ten times its bytes: what all requests together may hold is the product of the two.
MENU_BYTES = 32 * 1024 * 1024
MENUS_AT_ONCE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """Opens files as they are, and reads menus: a few at a time, none too large, each in a thread."""

    files: PayloadStore
    menus: PayloadStore
    turns: asyncio.Semaphore

    @classmethod
    def of(cls, files: PayloadStore) -> Self:
        """Make them over the payload files of one place."""
        small = files.within(Limits(max_bytes=MENU_BYTES))
        return cls(files=files, menus=small, turns=asyncio.Semaphore(MENUS_AT_ONCE))

    async def open(self, payload: StoredPayload) -> OpenedPayload:
        """Open a payload's file, proved. Raises RequestRefused."""
        with told(payload.id):
            return await asyncio.to_thread(open_payload, self.files, payload)

    async def open_raw(self, raw: RawMenu) -> OpenedPayload:
        """Open a raw menu's file, proved. Raises RequestRefused."""
        with told(raw.id, "raw menu"):
            return await asyncio.to_thread(open_raw_menu, self.files, raw)

    async def menu(self, payload: StoredPayload) -> Menu:
        """Read a payload as a menu. Raises RequestRefused."""
        async with self.turns:
            with told(payload.id):
                return await asyncio.to_thread(read_menu, self.menus, payload)


@dataclass(frozen=True, slots=True)
class Providing:
    """The dependency of a whole router that hands its routes their means; all routers of a server share them."""

    files: PayloadStore

    async def __call__(self, request: Request) -> None:
        state = request.app.state
        if not hasattr(state, "crawl_means"):
            state.crawl_means = Means.of(self.files)


def _means(request: Request) -> Means:
    means: Means = request.app.state.crawl_means
    return means


HasMeans = Annotated[Means, Depends(_means)]
