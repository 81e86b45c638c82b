"""Dispense behind the contract: venues of known organizations, and menus that come in parts of at most 250 products."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from storecrawl.catalog.discovery import StoreRules
from storecrawl.catalog.normalize import Menu
from storecrawl.platforms.access import Access
from storecrawl.platforms.client import HttpClient
from storecrawl.platforms.dispense import reader
from storecrawl.platforms.dispense.reader import LIST_MEMBER, TOTAL_MEMBER
from storecrawl.platforms.dispense.stores import NAME, read_venue
from storecrawl.platforms.errors import NoEntryPoint, SchemaDrift
from storecrawl.platforms.paged import ListForm, PagedMenu, fetch_list, merge_pages
from storecrawl.platforms.protocol import Area, Discovery, Keep, Resolution, Spec, StoreAddress
from storecrawl.platforms.raw_pages import RawPage
from storecrawl.platforms.rest import Clients, discovery_of, find_one, list_all

VENUES, PRODUCTS = "/2023-03/venues", "/2023-03/products"
LARGEST_PAGE = 250
VENUES_PAGE = 100
API_KEY, ORGANIZATIONS = "api_key", "organizations"
KEY_HEADER = "x-dispense-api-key"
ID = re.compile(r"[0-9a-f]{16}")
SLUG = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{0,99}")
MENU_ADDRESS = re.compile(r"https?://menus\.dispenseapp\.com/([0-9A-Za-z-]{1,100})(?:[/?#].*)?")
FORM = ListForm(member=LIST_MEMBER, total=(TOTAL_MEMBER,), key="id", expected=("id", "name", "price", "venue"))


def read_ids(text: str) -> tuple[str, ...]:
    """Return the ids of organizations, separated by commas. Raises ValueError for others."""
    ids = tuple(part.strip() for part in text.split(",") if part.strip())
    wrong = next((each for each in ids if not ID.fullmatch(each)), None)
    if wrong is not None:
        raise ValueError(f"must be ids of 16 hexadecimal digits, separated by commas, not {wrong!r}")
    return ids


class Dispense:
    """Dispense. Its API has no directory of all venues: those of the organizations in the settings are discovered."""

    spec: ClassVar[Spec] = Spec(
        title="Dispense",
        rules=StoreRules(platform=NAME, store_id=ID),
        options={API_KEY: str, ORGANIZATIONS: read_ids},
    )

    def __init__(self, access: Access) -> None:
        headers = {**access.http.headers, KEY_HEADER: str(access.own.get(API_KEY, ""))}
        self._clients = Clients(replace(access, http=replace(access.http, headers=headers)))
        self._organizations: Sequence[str] = access.own.get(ORGANIZATIONS, ())

    @staticmethod
    def read(document: object) -> Menu:
        """Normalize a document of this platform. Raises NotAMenu for any other document."""
        return reader.read(document)

    @staticmethod
    def entry_name(entry: str) -> str | None:
        """Return the venue's id or slug in an id, a slug or the address of a menu; None for other text."""
        address = MENU_ADDRESS.fullmatch(entry.strip())
        name = address[1] if address else entry.strip()
        return name if SLUG.fullmatch(name) else None

    async def check(self) -> None:
        """Request one venue."""
        client = self._clients.at()
        async with client.visit(about="one venue") as visit:
            await client.get_json(visit, VENUES, {"limit": "1"})

    async def discover(self, area: Area) -> Discovery:
        """List the venues of the known organizations in an area. There are no cities to search."""
        records = [record for organization in self._organizations for record in await self._venues(organization)]
        return discovery_of(records, read_venue, area)

    async def resolve(self, entry: str, endpoint: str | None = None) -> Resolution:
        """Find the venue of an id, a slug or the address of a menu. Raises NoEntryPoint and UnknownStore."""
        name = self.entry_name(entry)
        if name is None:
            raise NoEntryPoint(entry)
        store = read_venue(await self._venue(self._clients.at(endpoint), name))
        if store is None:
            raise SchemaDrift("venue", "the venue has no id")
        return Resolution(store=store, way="id" if ID.fullmatch(name) else "slug")

    async def fetch(self, store: StoreAddress, *, keep: Keep, digests: Sequence[str] = ()) -> PagedMenu | None:
        """Fetch a venue's whole menu. Raises UnknownStore: an empty menu may be that of a venue that is gone."""
        client, venue_id = self._clients.at(store.endpoint), store.platform_store_id

        def request(number: int) -> tuple[str, Mapping[str, str]]:
            return PRODUCTS, _params_of_page(venue_id, number)

        async with client.visit(store=venue_id) as visit:
            menu = await fetch_list(client, visit, FORM, venue_id, request, keep=keep, digests=digests)
        if menu is not None and not menu.total:
            await self._venue(client, venue_id)
        return menu

    def merge(self, store: StoreAddress, pages: Sequence[RawPage]) -> PagedMenu:
        """Rebuild the menu from the responses that `fetch` has kept."""
        return merge_pages(FORM, store.platform_store_id, pages)

    async def _venues(self, organization: str) -> list[Any]:
        fixed = {"organizationId": organization, "limit": str(VENUES_PAGE)}
        return await list_all(
            self._clients.at(), VENUES, lambda known: {**fixed, "skip": str(known)}, (LIST_MEMBER,), part=VENUES_PAGE
        )

    async def _venue(self, client: HttpClient, name: str) -> dict[str, Any]:
        venue = await find_one(client, f"{VENUES}/{name}", name)
        return venue if isinstance(venue, dict) else {}


def _params_of_page(venue_id: str, number: int) -> dict[str, str]:
    """Return the parameters of a page; sizes of one product come together, and sold-out products as well."""
    return {
        "venueId": venue_id,
        "active": "true",
        "enable": "true",
        "group": "true",
        "limit": str(LARGEST_PAGE),
        "skip": str(number * LARGEST_PAGE),
    }
