"""The served menus: written once per store and step, cached, selected by filter and page."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec

from storecrawl.demo.upstream.campaigns import campaigns_at
from storecrawl.demo.upstream.clock import iso_text
from storecrawl.demo.upstream.options import UpstreamOptions
from storecrawl.demo.upstream.product_document import IMAGES, Listing, StoreDay, product_document
from storecrawl.demo.upstream.products import Shelf, make_brands, make_product
from storecrawl.demo.upstream.shelf_life import (
    Placement,
    ShelfPlace,
    last_change,
    make_offer,
    make_placement,
    make_places,
)
from storecrawl.demo.upstream.stores import StoreKind, WorldStore

LARGEST_PAGE = 100
ACTIVE = "Active"


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A product of a menu in two forms: as customers see it (None if they do not), and complete."""

    id: str
    name: str
    type: str
    strain_type: str
    subcategory: str | None
    status: str
    cents: int
    medical_only: bool
    adult_only: bool
    shown: bytes | None
    full: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class MenuFilter:
    """The filter of a menu request; empty sets match everything. `show_everything` ignores the thresholds."""

    pricing_type: str | None = None
    status: str | None = None
    types: frozenset[str] = frozenset()
    strain_types: frozenset[str] = frozenset()
    subcategories: frozenset[str] = frozenset()
    product_ids: frozenset[str] = frozenset()
    show_everything: bool = False
    sort_by: str | None = None
    descending: bool = False

    def holds(self, entry: Entry, store: WorldStore) -> bool:
        return (
            (self.show_everything or entry.shown is not None)
            and (self.status is None or entry.status == self.status)
            and (not self.types or entry.type in self.types)
            and (not self.strain_types or entry.strain_type in self.strain_types)
            and (not self.subcategories or entry.subcategory in self.subcategories)
            and (not self.product_ids or entry.id in self.product_ids)
            and self._is_sold_to(entry, store)
        )

    def _is_sold_to(self, entry: Entry, store: WorldStore) -> bool:
        if store.kind is not StoreKind.BOTH or self.pricing_type is None:
            return True
        return not (entry.medical_only if self.pricing_type == "rec" else entry.adult_only)


@dataclass(frozen=True, slots=True, kw_only=True)
class MenuPart:
    """A page of a filtered menu: the products' JSON, and the total number of products and pages."""

    products: list[bytes]
    total_count: int
    total_pages: int


class MenuCache:
    """Writes menus on first use and caches the last used ones."""

    def __init__(self, options: UpstreamOptions) -> None:
        self._options = options
        self._brands = make_brands(options.seed)
        self.images = IMAGES
        self._encode = msgspec.json.Encoder().encode
        self._menus: OrderedDict[tuple[int, int], list[Entry]] = OrderedDict()

    def page(self, store: WorldStore, step: int, menu_filter: MenuFilter, number: int, size: int) -> MenuPart:
        """Return a page, counted from 0, of at most 100 products."""
        found = [entry for entry in self.menu(store, step) if menu_filter.holds(entry, store)]
        _sort(found, menu_filter)
        size = min(LARGEST_PAGE, size)
        part = found[number * size : (number + 1) * size]
        written = [entry.full if menu_filter.show_everything else entry.shown or entry.full for entry in part]
        return MenuPart(products=written, total_count=len(found), total_pages=math.ceil(len(found) / size))

    def menu(self, store: WorldStore, step: int) -> list[Entry]:
        key = (store.number, step)
        if key not in self._menus:
            self._menus[key] = self._write(store, step)
        self._menus.move_to_end(key)
        while len(self._menus) > self._options.cached_menus:
            self._menus.popitem(last=False)
        return self._menus[key]

    def offered_products(self, store: WorldStore, step: int) -> set[str]:
        """Return the ids of all products on a store's menu at a step that a customer can buy."""
        listings = (each for each in self._listings(store, step) if each.status == ACTIVE)
        return {each.placement.id for each in listings if not _is_on_no_list(each.placement, store)}

    def shown_listings(self, store: WorldStore, step: int) -> Iterator[Listing]:
        """Yield the products that customers of a store see at a step, without nearly sold-out options."""
        for listing in self._listings(store, step):
            offer = listing.offer.above_threshold()
            if listing.status == ACTIVE and offer is not None and not _is_on_no_list(listing.placement, store):
                yield msgspec.structs.replace(listing, offer=offer)

    def _write(self, store: WorldStore, step: int) -> list[Entry]:
        return [self._entry(listing) for listing in self._listings(store, step)]

    def _listings(self, store: WorldStore, step: int) -> Iterator[Listing]:
        seed, share = self._options.seed, self._options.changing_share
        days: dict[int, StoreDay] = {}
        for place in make_places(seed, store):
            changed_at = last_change(seed, store, place, step, share)
            if changed_at not in days:
                days[changed_at] = self._day(store, changed_at)
            listing = _listing(days[changed_at], place)
            if listing is not None:
                yield listing

    def _day(self, store: WorldStore, step: int) -> StoreDay:
        return StoreDay(
            seed=self._options.seed,
            store=store,
            step=step,
            updated_at=iso_text(step),
            shelf=Shelf(habits=store.habits, brands=self._brands),
            campaigns=campaigns_at(self._options.seed, store, step),
            images=self.images,
        )

    def _entry(self, listing: Listing) -> Entry:
        full = self._encode(product_document(listing))
        product, placement = listing.product, listing.placement
        return Entry(
            id=placement.id,
            name=product.name,
            type=product.type_name,
            strain_type=product.strain_type,
            subcategory=product.subcategory,
            status=listing.status,
            cents=listing.offer.prices[0],
            medical_only=placement.medical_only,
            adult_only=placement.adult_only,
            shown=self._visible_document(listing, full),
            full=full,
        )

    def _visible_document(self, listing: Listing, full: bytes) -> bytes | None:
        offer = listing.offer.above_threshold()
        if offer is None or offer is listing.offer:
            return None if offer is None else full
        return self._encode(product_document(msgspec.structs.replace(listing, offer=offer)))


def _is_on_no_list(placement: Placement, store: WorldStore) -> bool:
    """Return whether a product is on neither list: some stores have separate lists for patients and others."""
    return store.kind is StoreKind.BOTH and placement.medical_only and placement.adult_only


_SORT_KEYS: dict[str, Callable[[Entry], str | int]] = {
    "alpha": lambda entry: entry.name.casefold(),
    "price": lambda entry: entry.cents,
}
"""Other orders of the upstream ("popularSortIdx", "weight", none) are the order of the menu."""


def _sort(entries: list[Entry], menu_filter: MenuFilter) -> None:
    key = _SORT_KEYS.get(menu_filter.sort_by or "")
    if key is not None:
        entries.sort(key=key, reverse=menu_filter.descending)


def _listing(day: StoreDay, place: ShelfPlace) -> Listing | None:
    generation = place.generation_at(day.step)
    if generation is None:
        return None
    placement = make_placement(day.seed, day.store, place, generation)
    if placement.is_missing_at(day.step):
        return None
    product = make_product(day.seed, place.owner, place.number, generation, day.shelf)
    offer = make_offer(day.store, product, placement, day.campaigns, day.step)
    return Listing(day=day, product=product, placement=placement, offer=offer)
