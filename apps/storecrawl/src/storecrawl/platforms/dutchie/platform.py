"""Dutchie as a platform of the crawler."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import ClassVar
from urllib.parse import urlsplit

from storecrawl.catalog.discovery import NamedCity, StoreRules
from storecrawl.catalog.normalize import Menu, normalize
from storecrawl.catalog.store_records import DiscoveredStore
from storecrawl.platforms.access import Access
from storecrawl.platforms.dutchie.client import UpstreamClient
from storecrawl.platforms.dutchie.menu import FetchedMenu
from storecrawl.platforms.dutchie.operations import OPERATIONS
from storecrawl.platforms.dutchie.options import ClientOptions
from storecrawl.platforms.dutchie.records import City, PlatformStore
from storecrawl.platforms.dutchie.resolution import slug_of
from storecrawl.platforms.dutchie.store_objects import NAME, problems_of_object, read_stores
from storecrawl.platforms.errors import SchemaDrift
from storecrawl.platforms.protocol import Area, Discovery, Keep, Resolution, Spec, StoreAddress
from storecrawl.platforms.raw_pages import RawPage

STORE_ID = re.compile(r"[0-9a-f]{24}|[0-9A-Za-z]{17}")
PATH = re.compile(r"(?:/[0-9A-Za-z_.-]+)+")
HASH = re.compile(r"([A-Za-z]+)=([0-9a-f]{64})")
OPERATION_NAMES = tuple(operation.name for operation in OPERATIONS)
CHECKED_STATE = "AZ"


def read_path(text: str) -> str:
    """Return a path. Raises ValueError."""
    if not PATH.fullmatch(text):
        raise ValueError("must be a path such as /graphql")
    return text


def read_hashes(text: str) -> dict[str, tuple[str, ...]]:
    """Return persisted-query hashes by operation. Raises ValueError."""
    hashes: dict[str, tuple[str, ...]] = {}
    for one in filter(None, map(str.strip, text.split(","))):
        found = HASH.fullmatch(one)
        if found is None or found[1] not in OPERATION_NAMES:
            names = ", ".join(OPERATION_NAMES)
            raise ValueError(f"{one!r} must have the form {OPERATION_NAMES[0]}=<64 hex digits> with one of {names}")
        hashes[found[1]] = (*hashes.get(found[1], ()), found[2])
    return hashes


class Dutchie:
    """Stores and menus over GraphQL, at the platform's host or at that of a white-label chain.

    An endpoint is a host, or the address of its GraphQL endpoint, such as https://menu.example/api-4/graphql.
    """

    spec: ClassVar[Spec] = Spec(
        title="Dutchie",
        rules=StoreRules(platform=NAME, store_id=STORE_ID, problems_of_object=problems_of_object),
        options={"stores_path": read_path, "menus_path": read_path, "hashes": read_hashes},
    )

    def __init__(self, access: Access) -> None:
        self._access = access
        self._clients: dict[str | None, UpstreamClient] = {}

    @staticmethod
    def read(document: object) -> Menu:
        """Normalize a document of the GraphQL API, of Plus or of Joint. Raises NotAMenu."""
        return normalize(document)

    @staticmethod
    def entry_name(entry: str) -> str | None:
        return slug_of(entry)

    async def check(self) -> None:
        """List the cities of a state."""
        await self._client().cities(CHECKED_STATE)

    async def discover(self, area: Area) -> Discovery:
        """List the cities of a state, or the stores of a city."""
        if area.city is None:
            cities = await self._client().cities(area.state)
            return Discovery(cities=[_named_city(city) for city in cities], records=[city.raw for city in cities])
        stores = await self._client().stores(state=area.state, city=area.city)
        records = [store.raw for store in stores]
        return Discovery(stores=read_stores(records), records=records)

    async def resolve(self, entry: str, endpoint: str | None = None) -> Resolution:
        """Find a store by its name, its menu's page, or a search."""
        found = await self._client(endpoint).resolve(entry)
        return Resolution(store=_discovered(found.store), way=found.way.value)

    async def fetch(self, store: StoreAddress, *, keep: Keep, digests: Sequence[str] = ()) -> FetchedMenu | None:
        """Fetch the store's price lists. An unknown store has an empty menu, so that an empty one is looked up."""
        client, price_lists = self._client(store.endpoint), price_lists_of(store)
        fetch = partial(client.menu_unless_same, digests=digests) if digests else client.menu
        menu = await fetch(store.platform_store_id, price_lists, keep=keep)
        if menu is not None and not menu.products:
            await client.store(store.platform_store_id)
        return menu

    def merge(self, store: StoreAddress, pages: Sequence[RawPage]) -> FetchedMenu:
        return self._client(store.endpoint).merge(store.platform_store_id, pages)

    def _client(self, endpoint: str | None = None) -> UpstreamClient:
        """Return the only client of an endpoint, so that its limits apply to all tasks of this process."""
        if endpoint not in self._clients:
            base, options = self._options(endpoint)
            self._clients[endpoint] = UpstreamClient(
                base, options=options, egress=self._access.egress, rates=self._access.rates
            )
        return self._clients[endpoint]

    def _options(self, endpoint: str | None) -> tuple[str, ClientOptions]:
        http = {name: getattr(self._access.http, name) for name in self._access.http.__dataclass_fields__}
        if endpoint is None:
            return self._access.upstream, ClientOptions(**http, **self._access.own)
        parts = urlsplit(endpoint)
        path = parts.path.rstrip("/")
        own = dict(self._access.own) | ({"stores_path": path, "menus_path": path} if path else {})
        return f"{parts.scheme}://{parts.netloc}", ClientOptions(**http, **own)


def price_lists_of(store: StoreAddress) -> tuple[str, ...]:
    """Return the store's price lists on the platform: each has products that the other lacks."""
    if store.recreational is False:
        return ("med",)
    return ("rec", "med") if store.medical else ("rec",)


def _discovered(store: PlatformStore) -> DiscoveredStore:
    found = read_stores([store.raw])
    if not found:
        raise SchemaDrift("ConsumerDispensaries", f"the store {store.slug!r} has no usable id")
    return found[0]


def _named_city(city: City) -> NamedCity:
    longitude, latitude = (city.geometry and city.geometry.coordinates) or (None, None)
    return NamedCity(
        name=city.name,
        slug=city.slug,
        country=city.country,
        latitude=latitude,
        longitude=longitude,
        stores_told=city.store_count,
    )
