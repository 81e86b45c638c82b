"""The directory of all stores, found by slug, id, place or words. It grows with simulated time."""

from __future__ import annotations

import math
from dataclasses import dataclass

from msgspec.structs import replace

from storecrawl.demo.upstream.options import UpstreamOptions
from storecrawl.demo.upstream.places import City
from storecrawl.demo.upstream.stores import StoreKind, WorldStore, make_store

EARTH_RADIUS_MILES = 3958.8
FORMER = "old-"
"""The slugs that stores had before their current ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearby:
    """A search within a number of miles of a point."""

    latitude: float
    longitude: float
    miles: float

    def holds(self, store: WorldStore) -> bool:
        return self.miles_to(store) <= self.miles

    def miles_to(self, store: WorldStore) -> float:
        here, there = math.radians(self.latitude), math.radians(store.latitude)
        turn = math.radians(store.longitude - self.longitude)
        arc = math.sin((there - here) / 2) ** 2 + math.cos(here) * math.cos(there) * math.sin(turn / 2) ** 2
        return 2 * EARTH_RADIUS_MILES * math.asin(math.sqrt(arc))


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaSearch:
    """The criteria of an area search; None matches everything."""

    state: str | None = None
    city: str | None = None
    near: Nearby | None = None
    kinds: frozenset[StoreKind] = frozenset(StoreKind)

    def holds(self, store: WorldStore) -> bool:
        return (
            (self.state is None or store.city.state.code == self.state.upper())
            and (self.city is None or store.city.name.casefold() == self.city.casefold())
            and (self.near is None or self.near.holds(store))
            and store.kind in self.kinds
        )


class StoreDirectory:
    """Every store open at a step, created on first use."""

    def __init__(self, options: UpstreamOptions) -> None:
        self._options = options
        self._stores: list[WorldStore] = []
        self._by_name: dict[str, WorldStore] = {}

    def count_at(self, step: int) -> int:
        """Return the number of stores open at a step; it doubles at most."""
        opened = int(self._options.new_stores_per_step * step)
        return self._options.stores + min(opened, self._options.stores)

    def open_until(self, step: int) -> list[WorldStore]:
        """Return the stores open at a step, oldest first. Steps must not decrease."""
        for number in range(len(self._stores), self.count_at(step)):
            self._add(make_store(self._options, number, self._opened_at(number)))
        return self._stores

    def find(self, name: str, step: int) -> WorldStore | None:
        self.open_until(step)
        return self._by_name.get(name)

    def find_former(self, slug: str, step: int) -> WorldStore | None:
        """Return the store that had this slug before it was renamed, or None."""
        return self.find(slug.removeprefix(FORMER), step) if slug.startswith(FORMER) else None

    def search(self, search: AreaSearch, step: int) -> list[WorldStore]:
        return [store for store in self.open_until(step) if search.holds(store)]

    def find_matching(self, term: str, limit: int, step: int) -> list[WorldStore]:
        """Return at most `limit` stores with all words of the term in name, slug or city, ignoring case."""
        words = term.casefold().split()
        found = (store for store in self.open_until(step) if all(word in _search_text(store) for word in words))
        return [store for store, _ in zip(found, range(limit), strict=False)]

    def cities(self, state: str, step: int) -> dict[City, int]:
        counts: dict[City, int] = {}
        for store in self.search(AreaSearch(state=state), step):
            counts[store.city] = counts.get(store.city, 0) + 1
        return counts

    def _opened_at(self, number: int) -> int:
        later = number - self._options.stores + 1
        return math.ceil(later / self._options.new_stores_per_step) if later > 0 else 0

    def _add(self, store: WorldStore) -> None:
        if store.slug in self._by_name:
            store = replace(store, slug=f"{store.slug}-{store.number}")
        self._stores.append(store)
        self._by_name[store.slug] = self._by_name[store.id] = store


def _search_text(store: WorldStore) -> str:
    return f"{store.name} {store.slug} {store.city.name}".casefold()
