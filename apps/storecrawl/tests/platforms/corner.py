"""A platform written from the guide: stores by state, menus in pages of two, one price for each product."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec
from storecrawl.catalog.discovery import StoreRules
from storecrawl.catalog.normalize import Menu, NotAMenu, normalize
from storecrawl.catalog.store_records import DiscoveredStore
from storecrawl.egress import Visit
from storecrawl.platforms.access import Access
from storecrawl.platforms.client import HttpClient
from storecrawl.platforms.errors import NoEntryPoint, UnknownStore, UpstreamError
from storecrawl.platforms.exchange import Reply
from storecrawl.platforms.protocol import Area, Discovery, Keep, Resolution, Spec, StoreAddress
from storecrawl.platforms.raw_pages import RawPage
from storecrawl.platforms.replies import json_of

PAGE = 2
NOT_FOUND = 404
NAME = re.compile(r"[0-9a-z-]{1,40}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CornerMenu:
    """The products of all pages. The digests are those of the responses."""

    products: Sequence[Mapping[str, Any]]
    digests: Sequence[str]

    @property
    def product_count(self) -> int:
        return len(self.products)

    def document(self) -> object:
        return {"corner": self.products}


class Corner:
    """GET /stores?state=AZ, /stores/{id or slug} and /stores/{id}/items?from=0."""

    spec: ClassVar[Spec] = Spec(title="Corner", rules=StoreRules(platform="corner", store_id=re.compile(r"[0-9]{1,9}")))

    def __init__(self, access: Access) -> None:
        self._access = access

    @staticmethod
    def read(document: object) -> Menu:
        """Normalize a menu, product by product, in the form that has a name for everything."""
        if not isinstance(document, dict) or not isinstance(document.get("corner"), list):
            raise NotAMenu("it has no list of Corner's products")
        products = [_plus_record(item) for item in document["corner"]]
        return normalize({"data": {"dutchieplus": {"menu": {"products": products, "productsCount": len(products)}}}})

    @staticmethod
    def entry_name(entry: str) -> str | None:
        return entry if NAME.fullmatch(entry) else None

    async def check(self) -> None:
        await self.discover(Area(state="AZ"))

    async def discover(self, area: Area) -> Discovery:
        client = self._access.client()
        async with client.visit(about=area.state) as visit:
            records = await client.get_json(visit, "/stores", {"state": area.state})
        return Discovery(stores=[_store(record) for record in records], records=records)

    async def resolve(self, entry: str, endpoint: str | None = None) -> Resolution:
        if self.entry_name(entry) is None:
            raise NoEntryPoint(entry)
        client = self._access.client(endpoint)
        try:
            async with client.visit(about=entry) as visit:
                return Resolution(store=_store(await client.get_json(visit, f"/stores/{entry}")), way="direct")
        except UpstreamError as problem:
            raise (UnknownStore(entry) if problem.status == NOT_FOUND else problem) from problem

    async def fetch(self, store: StoreAddress, *, keep: Keep, digests: Sequence[str] = ()) -> CornerMenu | None:
        await self.resolve(store.platform_store_id, store.endpoint)
        client, pages = self._access.client(store.endpoint), list[RawPage]()
        async with client.visit(store=store.platform_store_id) as visit:
            while not pages or len(_items(pages[-1])) == PAGE:
                pages.append(await _page(client, visit, store, len(pages), keep))
        menu = self.merge(store, pages)
        return None if menu.digests == list(digests) else menu

    def merge(self, store: StoreAddress, pages: Sequence[RawPage]) -> CornerMenu:
        products = [item for page in pages for item in _items(page)]
        return CornerMenu(products=products, digests=[hashlib.sha256(page.body).hexdigest() for page in pages])


async def _page(client: HttpClient, visit: Visit, store: StoreAddress, number: int, keep: Keep) -> RawPage:
    def read(reply: Reply) -> RawPage:
        page = RawPage.of(reply, "menu", number)
        keep(page)
        json_of(reply)
        return page

    path = f"/stores/{store.platform_store_id}/items"
    return await client.get(visit, path, {"from": str(number * PAGE)}, read)


def _items(page: RawPage) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = msgspec.json.decode(page.body)
    return items


def _store(record: dict[str, Any]) -> DiscoveredStore:
    return DiscoveredStore(
        platform="corner",
        platform_store_id=str(record["id"]),
        name=record["name"],
        slug=record["slug"],
        state=record["state"],
        raw=record,
    )


def _plus_record(item: Mapping[str, Any]) -> dict[str, Any]:
    variants = [{"option": item["size"], "priceRec": item["price"], "quantity": item["left"]}]
    return {"id": item["sku"], "name": item["title"], "category": item["kind"], "variants": variants}
