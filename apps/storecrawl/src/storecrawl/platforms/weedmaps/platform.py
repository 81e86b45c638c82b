"""Weedmaps behind the contract: listings by region, and menus in numbered pages of at most 100 items."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from storecrawl.catalog.discovery import StoreRules
from storecrawl.catalog.normalize import Menu
from storecrawl.catalog.normalize.categories import label_of
from storecrawl.platforms.access import Access
from storecrawl.platforms.client import HttpClient
from storecrawl.platforms.errors import NoEntryPoint, SchemaDrift, UnknownStore, UpstreamError
from storecrawl.platforms.exchange import checked_base
from storecrawl.platforms.paged import ListForm, PagedMenu, fetch_list, merge_pages
from storecrawl.platforms.protocol import Area, Discovery, Keep, Resolution, Spec, StoreAddress
from storecrawl.platforms.raw_pages import RawPage
from storecrawl.platforms.rest import Clients, discovery_of, find_one, list_all, member_at, unknown_or
from storecrawl.platforms.weedmaps import reader
from storecrawl.platforms.weedmaps.reader import LIST_MEMBER
from storecrawl.platforms.weedmaps.regions import REGIONS
from storecrawl.platforms.weedmaps.stores import NAME, read_listing

LARGEST_PAGE = 100
DIRECTORY = "directory"
LISTINGS = "/discovery/v2/listings"
LISTING = "/discovery/v1/listings/dispensaries"
MENUS = "/api/v1/listings"
REGION = "filter[region_slug[dispensaries]]"
ID = re.compile(r"[0-9]{1,12}")
SLUG = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{0,199}")
MENU_ADDRESS = re.compile(r"https?://[^/?#]+(?:/[^/?#]+)?/dispensaries/([0-9A-Za-z-]{1,200})(?:[/?#].*)?")
MENU_PATH = re.compile(r"/dispensaries/([0-9A-Za-z-]{1,200})/")
FORM = ListForm(member=LIST_MEMBER, total=("meta", "total"), key="id", expected=("id", "type", "attributes"))


def read_address(text: str) -> str:
    """Return the address of a host. Raises ValueError."""
    return str(checked_base(text)).rstrip("/")


class Weedmaps:
    """Weedmaps. The host of its directory, if it is not that of the menus, is a setting of its own."""

    spec: ClassVar[Spec] = Spec(
        title="Weedmaps", rules=StoreRules(platform=NAME, store_id=ID), options={DIRECTORY: read_address}
    )

    def __init__(self, access: Access) -> None:
        self._clients = Clients(access)
        self._directory = self._clients.at(access.own.get(DIRECTORY))

    @staticmethod
    def read(document: object) -> Menu:
        """Normalize a document of this platform. Raises NotAMenu for any other document."""
        return reader.read(document)

    @staticmethod
    def entry_name(entry: str) -> str | None:
        """Return the listing's slug or id in a slug, an id or the address of a menu; None for other text."""
        address = MENU_ADDRESS.fullmatch(entry.strip())
        name = address[1] if address else entry.strip()
        return name if SLUG.fullmatch(name) else None

    async def check(self) -> None:
        """Request one listing."""
        async with self._directory.visit(about="one listing") as visit:
            await self._directory.get_json(visit, LISTINGS, {"page": "1", "page_size": "1"})

    async def discover(self, area: Area) -> Discovery:
        """List the dispensaries of a state, or of a city. There are no cities to search next."""
        region = REGIONS.get(area.state.upper()) if area.city is None else label_of(area.city, "-")
        if region is None:
            return Discovery()

        def params_of(known: int) -> dict[str, str]:
            return {REGION: region, "page": str(known // LARGEST_PAGE + 1), "page_size": str(LARGEST_PAGE)}

        records = await list_all(self._directory, LISTINGS, params_of, ("data", "listings"), part=LARGEST_PAGE)
        return discovery_of(records, read_listing, area)

    async def resolve(self, entry: str, endpoint: str | None = None) -> Resolution:
        """Find the listing of a slug, an id or the address of a menu. Raises NoEntryPoint and UnknownStore."""
        name = self.entry_name(entry)
        if name is None:
            raise NoEntryPoint(entry)
        slug = await self._slug_of(self._clients.at(endpoint), name) if ID.fullmatch(name) else name
        record = member_at(await find_one(self._directory, f"{LISTING}/{slug}", slug), "data", "listing")
        store = read_listing(record) if isinstance(record, dict) else None
        if store is None:
            raise SchemaDrift("listing", "the response has no listing with a wmid")
        return Resolution(store=store, way="slug" if slug == name else "id")

    async def fetch(self, store: StoreAddress, *, keep: Keep, digests: Sequence[str] = ()) -> PagedMenu | None:
        """Fetch a listing's whole menu. Raises UnknownStore."""
        client, wmid = self._clients.at(store.endpoint), store.platform_store_id

        def request(number: int) -> tuple[str, Mapping[str, str]]:
            return f"{MENUS}/{wmid}/menu_items", {"page": str(number + 1), "page_size": str(LARGEST_PAGE)}

        try:
            async with client.visit(store=wmid) as visit:
                return await fetch_list(client, visit, FORM, wmid, request, keep=keep, digests=digests)
        except UpstreamError as problem:
            raise unknown_or(problem, wmid) from problem

    def merge(self, store: StoreAddress, pages: Sequence[RawPage]) -> PagedMenu:
        """Rebuild the menu from the responses that `fetch` has kept."""
        return merge_pages(FORM, store.platform_store_id, pages)

    async def _slug_of(self, client: HttpClient, wmid: str) -> str:
        """Return the slug of an id. The directory has no ids, but each item of a menu links to its listing."""
        answer = await find_one(client, f"{MENUS}/{wmid}/menu_items", wmid)
        items = member_at(answer, LIST_MEMBER) or [None]
        found = MENU_PATH.match(str(member_at(items[0], "links", "self")))
        if found is None:
            raise UnknownStore(wmid)
        return found[1]
