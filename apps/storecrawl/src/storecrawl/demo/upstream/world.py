"""The local upstream without HTTP: stores, menus and time as one object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from storecrawl.demo.upstream.clock import SimulatedClock
from storecrawl.demo.upstream.directory import AreaSearch, Nearby, StoreDirectory
from storecrawl.demo.upstream.menus import MenuCache, MenuFilter, MenuPart
from storecrawl.demo.upstream.options import UpstreamOptions
from storecrawl.demo.upstream.product_document import Listing
from storecrawl.demo.upstream.store_document import city_document, store_document
from storecrawl.demo.upstream.stores import StoreKind, WorldStore

DEFAULT_MILES = 25.0
NO_PAGE = MenuPart(products=[], total_count=0, total_pages=0)

Document = dict[str, Any]
Arguments = Mapping[str, Any]


class World:
    """Resolves the fields of the schema at the current step of its clock."""

    def __init__(self, options: UpstreamOptions) -> None:
        self.options = options
        self.clock = SimulatedClock(step_seconds=options.step_seconds, epoch=options.epoch)
        self.directory = StoreDirectory(options)
        self._menus = MenuCache(options)

    def show_images_at(self, address: str) -> None:
        """Set the address of product images, before the first menu is served."""
        self._menus.images = address

    def stores(self, arguments: Arguments) -> list[Document]:
        name = arguments.get("cNameOrID")
        if name is not None:
            store = self.directory.find(name, self.clock.step)
            return [] if store is None else [self._document(store)]
        search = _area_search(arguments)
        return [self._document(store, search.near) for store in self.directory.search(search, self.clock.step)]

    def store_at(self, name: str) -> WorldStore | None:
        return self.directory.find(name, self.clock.step)

    def open_stores(self) -> list[WorldStore]:
        return self.directory.open_until(self.clock.step)

    def shown_listings(self, store: WorldStore, step: int) -> Iterator[Listing]:
        """Yield the products that customers of a store see at a step."""
        return self._menus.shown_listings(store, step)

    def former_store(self, name: str) -> WorldStore | None:
        """Return the store that used to have a slug."""
        return self.directory.find_former(name, self.clock.step)

    def find_matching(self, term: str, limit: int) -> list[Document]:
        return [self._document(store) for store in self.directory.find_matching(term, limit, self.clock.step)]

    def cities(self, state: str) -> list[Document]:
        return [city_document(city, stores) for city, stores in self.directory.cities(state, self.clock.step).items()]

    def page(self, arguments: Arguments, number: int, size: int) -> MenuPart:
        step = self.clock.step
        store = self.directory.find(arguments["dispensaryId"], step)
        if store is None or number < 0 or size < 1:
            return NO_PAGE
        return self._menus.page(store, step, _menu_filter(arguments), number, size)

    def offered_products(self, name: str, step: int) -> set[str]:
        """Return the ids of all products that a store offers at a step, to any customer and in any quantity."""
        store = self.directory.find(name, step)
        return set() if store is None else self._menus.offered_products(store, step)

    def _document(self, store: WorldStore, near: Nearby | None = None) -> Document:
        distance = None if near is None else near.miles_to(store)
        return store_document(store, self.options.seed, self.clock.step, distance)


def _area_search(arguments: Arguments) -> AreaSearch:
    return AreaSearch(
        state=arguments.get("state"),
        city=arguments.get("city"),
        near=_nearby(arguments),
        kinds=frozenset(_kinds(arguments)),
    )


def _nearby(arguments: Arguments) -> Nearby | None:
    latitude, longitude = arguments.get("nearLat"), arguments.get("nearLng")
    if latitude is None or longitude is None:
        return None
    return Nearby(latitude=latitude, longitude=longitude, miles=arguments.get("distance") or DEFAULT_MILES)


def _kinds(arguments: Arguments) -> set[StoreKind]:
    kinds = set(StoreKind)
    if arguments.get("medical"):
        kinds.discard(StoreKind.ADULT)
    if arguments.get("recreational"):
        kinds.discard(StoreKind.MEDICAL)
    return kinds


def _menu_filter(arguments: Arguments) -> MenuFilter:
    keeps_everything = arguments.get("removeProductsBelowOptionThresholds") is False
    return MenuFilter(
        pricing_type=arguments.get("pricingType"),
        status=arguments.get("Status"),
        types=frozenset(arguments.get("types") or ()),
        strain_types=frozenset(arguments.get("strainTypes") or ()),
        subcategories=frozenset(arguments.get("subcategories") or ()),
        product_ids=frozenset(arguments.get("productIds") or ()),
        show_everything=keeps_everything or bool(arguments.get("bypassOnlineThresholds")),
        sort_by=arguments.get("sortBy"),
        descending=arguments.get("sortDirection") == -1,
    )
