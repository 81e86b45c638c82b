"""Resources of routes: the crawl payload files, menus read within limits, and the responses in a raw menu."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Self, TypeVar, cast

from fastapi import Depends, Request

from rolecall.web import Mounted, RequestRefused
from storecrawl.catalog import RawMenu, StoredPayload, open_payload, open_raw_menu
from storecrawl.catalog.normalize import Menu
from storecrawl.payloads import MENU_RATIO, Limits, OpenedPayload, PayloadStore
from storecrawl.platforms.menus import read_menu
from storecrawl.platforms.raw_pages import RawPage, read_raw_pages
from storecrawl.roles.crawler import Crawler
from storecrawl.serving.refusals import payload_errors_as_problems

# A parsed document takes about ten times its size; the product of the two limits the memory of all
# requests.
MENU_BYTES = 32 * 1024 * 1024
MENUS_AT_ONCE = 2

HasCrawler = Annotated[Crawler, Depends(Mounted(Crawler))]


T = TypeVar("T")


def shared_object(request: Request, kind: type[T], make: Callable[[], T]) -> T:
    """Return the object of a class that all routers of a server share. The first request makes it."""
    state, name = request.app.state, f"crawl_{kind.__name__}"
    if not hasattr(state, name):
        setattr(state, name, make())
    return cast("T", getattr(state, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """Opens files, and reads menus in threads: a few at a time, of limited size."""

    files: PayloadStore
    menus: PayloadStore
    limit: asyncio.Semaphore

    @classmethod
    def of(cls, files: PayloadStore) -> Self:
        small = files.with_limits(Limits(max_bytes=MENU_BYTES, max_ratio=MENU_RATIO))
        return cls(files=files, menus=small, limit=asyncio.Semaphore(MENUS_AT_ONCE))

    async def open(self, payload: StoredPayload) -> OpenedPayload:
        with payload_errors_as_problems(payload.id):
            return await asyncio.to_thread(open_payload, self.files, payload)

    async def open_raw(self, raw: RawMenu) -> OpenedPayload:
        with payload_errors_as_problems(raw.id, "raw menu"):
            return await asyncio.to_thread(open_raw_menu, self.files, raw)

    async def menu(self, payload: StoredPayload) -> Menu:
        async with self.limit:
            with payload_errors_as_problems(payload.id):
                return await asyncio.to_thread(read_menu, self.menus, payload)


async def _resources(request: Request, crawler: HasCrawler) -> Resources:
    return shared_object(request, Resources, lambda: Resources.of(crawler.payloads))


HasResources = Annotated[Resources, Depends(_resources)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RawPageFacts:
    """A response's metadata: its index, the page (from 0) of a part of the menu, and its size."""

    index: int
    part: str
    page: int
    status: int
    content_type: str
    size: int

    @classmethod
    def of(cls, index: int, page: RawPage) -> RawPageFacts:
        return cls(
            index=index,
            part=page.part,
            page=page.number,
            status=page.status,
            content_type=page.content_type,
            size=len(page.body),
        )


async def raw_pages(resources: Resources, raw: RawMenu) -> list[RawPageFacts]:
    """Return all responses of a raw menu in the order of their arrival. Raises RequestRefused."""
    with await resources.open_raw(raw) as opened:
        return await asyncio.to_thread(_facts, opened)


async def raw_page(resources: Resources, raw: RawMenu, index: int) -> RawPage:
    """Return a response of a raw menu by its index. Raises RequestRefused."""
    with await resources.open_raw(raw) as opened:
        page = await asyncio.to_thread(lambda: next(islice(read_raw_pages(opened.document()), index, None), None))
    if page is None:
        raise RequestRefused(f"raw menu {raw.id} has no response {index}", status=404, kind="raw-page-not-found")
    return page


def _facts(opened: OpenedPayload) -> list[RawPageFacts]:
    return [RawPageFacts.of(index, page) for index, page in enumerate(read_raw_pages(opened.document()))]
