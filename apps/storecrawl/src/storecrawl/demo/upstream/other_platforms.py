"""Dispense and Weedmaps next to the first platform: some of the world's stores publish their menus there as well."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from storecrawl.demo.upstream.answers import Answer
from storecrawl.demo.upstream.dispense_document import dispense_product, organization_id, venue_document, venue_id
from storecrawl.demo.upstream.listed_menus import ListedMenus
from storecrawl.demo.upstream.stores import WorldStore, slugify
from storecrawl.demo.upstream.weedmaps_document import listing_document, listing_id, menu_item
from storecrawl.demo.upstream.world import World
from storecrawl.platforms.weedmaps.regions import REGIONS

DISPENSE = "/dispense"
WEEDMAPS = "/weedmaps"
DISPENSE_KEY_HEADER = "x-dispense-api-key"
DISPENSE_KEY = "demo-key"
DISPENSE_EVERY, WEEDMAPS_EVERY = 4, 3
"""Every so manyth store is on the platform; those of both numbers are on both."""
DISPENSE_PAGE, DISPENSE_LARGEST = 100, 250
WEEDMAPS_PAGE, WEEDMAPS_LARGEST = 20, 100

Respond = Callable[[str, str | None, Callable[[], Answer]], Awaitable[Response]]
"""Respond to an operation about a store, or about none, with the true answer or with a fault."""


def dispense_stores(world: World) -> list[WorldStore]:
    """Return the open stores that are on Dispense."""
    return [store for store in world.open_stores() if store.number % DISPENSE_EVERY == 1]


def weedmaps_stores(world: World) -> list[WorldStore]:
    """Return the open stores that are on Weedmaps."""
    return [store for store in world.open_stores() if store.number % WEEDMAPS_EVERY == 1]


def other_routes(world: World, respond: Respond) -> list[Route]:
    """Return the routes of both platforms."""
    dispense, weedmaps = _Dispense(world, respond), _Weedmaps(world, respond)
    return [
        Route(f"{DISPENSE}/2023-03/venues", dispense.venues),
        Route(f"{DISPENSE}/2023-03/venues/{{id}}", dispense.venue),
        Route(f"{DISPENSE}/2023-03/products", dispense.products),
        Route(f"{WEEDMAPS}/discovery/v2/listings", weedmaps.listings),
        Route(f"{WEEDMAPS}/discovery/v1/listings/dispensaries/{{slug}}", weedmaps.listing),
        Route(f"{WEEDMAPS}/api/v1/listings/{{id:int}}/menu_items", weedmaps.menu_items),
    ]


class _Dispense:
    def __init__(self, world: World, respond: Respond) -> None:
        self._world = world
        self._respond = respond
        self._menus = ListedMenus(world, dispense_product)

    async def venues(self, http: Request) -> Response:
        organization, page = http.query_params.get("organizationId"), _skip_and_limit(http)

        def answer() -> Answer:
            owned = [each for each in dispense_stores(self._world) if organization_id(each) == organization]
            return _dispense_list([venue_document(each) for each in _part(owned, *page)], len(owned), *page)

        return await self._respond("venues", None, _keyed(http, answer))

    async def venue(self, http: Request) -> Response:
        name = http.path_params["id"]

        def answer() -> Answer:
            store = _find(dispense_stores(self._world), lambda each: name in {venue_id(each), each.slug})
            if store is None:
                return _json({"name": "NotFoundError", "message": "venue not found"}, HTTPStatus.NOT_FOUND)
            return _json(venue_document(store))

        return await self._respond("venue", name, _keyed(http, answer))

    async def products(self, http: Request) -> Response:
        name, page = http.query_params.get("venueId"), _skip_and_limit(http)

        def answer() -> Answer:
            # An unknown venue has an empty menu.
            store = _find(dispense_stores(self._world), lambda each: venue_id(each) == name)
            products, total = ([], 0) if store is None else self._menus.page(store, *page)
            return _dispense_list(products, total, *page)

        return await self._respond("products", name, _keyed(http, answer))


class _Weedmaps:
    def __init__(self, world: World, respond: Respond) -> None:
        self._world = world
        self._respond = respond
        self._menus = ListedMenus(world, menu_item)

    async def listings(self, http: Request) -> Response:
        region = http.query_params.get("filter[region_slug[dispensaries]]")
        number, size = _numbered_page(http)

        def answer() -> Answer:
            found = [each for each in weedmaps_stores(self._world) if region in _regions(each)]
            part = [self._listing(http, each) for each in _part(found, (number - 1) * size, size)]
            return _json({"data": {"listings": part}, "meta": {"total_listings": len(found)}})

        return await self._respond("listings", None, answer)

    async def listing(self, http: Request) -> Response:
        slug = http.path_params["slug"]

        def answer() -> Answer:
            store = _find(weedmaps_stores(self._world), lambda each: each.slug == slug)
            return _not_found() if store is None else _json({"data": {"listing": self._listing(http, store)}})

        return await self._respond("listing", slug, answer)

    async def menu_items(self, http: Request) -> Response:
        name: int = http.path_params["id"]
        number, size = _numbered_page(http)

        def answer() -> Answer:
            store = _find(weedmaps_stores(self._world), lambda each: listing_id(each) == name)
            if store is None:
                return _not_found()
            items, total = self._menus.page(store, (number - 1) * size, size)
            return _json({"meta": {"page": number, "per_page": size, "total": total}, "data": items})

        return await self._respond("menu_items", str(name), answer)

    def _listing(self, http: Request, store: WorldStore) -> dict[str, Any]:
        return listing_document(store, f"{str(http.base_url).rstrip('/')}{WEEDMAPS}")


def _keyed(http: Request, answer: Callable[[], Answer]) -> Callable[[], Answer]:
    """Refuse requests without the key that the shops' menus send."""
    if http.headers.get(DISPENSE_KEY_HEADER) == DISPENSE_KEY:
        return answer
    return lambda: _json({"name": "UnauthenticatedError", "message": "Unauthorized"}, HTTPStatus.UNAUTHORIZED)


def _find(stores: Iterable[WorldStore], is_it: Callable[[WorldStore], bool]) -> WorldStore | None:
    return next(filter(is_it, stores), None)


def _regions(store: WorldStore) -> set[str]:
    return {slugify(store.city.name).lower(), REGIONS[store.city.state.code]}


def _skip_and_limit(http: Request) -> tuple[int, int]:
    skip, limit = _number(http, "skip", 0), _number(http, "limit", DISPENSE_PAGE)
    return skip, min(limit, DISPENSE_LARGEST)


def _numbered_page(http: Request) -> tuple[int, int]:
    number, size = _number(http, "page", 1), _number(http, "page_size", WEEDMAPS_PAGE)
    return max(1, number), min(max(1, size), WEEDMAPS_LARGEST)


def _number(http: Request, name: str, default: int) -> int:
    text = http.query_params.get(name, "")
    return int(text) if text.isdecimal() else default


def _part(stores: list[WorldStore], first: int, count: int) -> list[WorldStore]:
    return stores[first : first + count]


def _dispense_list(members: list[Any], total: int, skip: int, limit: int) -> Answer:
    return _json({"count": total, "pageCount": len(members), "skip": skip, "limit": limit, "data": members})


def _not_found() -> Answer:
    return _json({"errors": [{"status": "404", "title": "Not Found"}]}, HTTPStatus.NOT_FOUND)


def _json(document: object, status: int = HTTPStatus.OK) -> Answer:
    return Answer(status, msgspec.json.encode(document))
