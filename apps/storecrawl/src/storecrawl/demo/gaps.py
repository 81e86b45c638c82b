"""The gaps of a full cycle and their reasons: stores not refreshed, places without a response.

Also products that the local upstream offers and the catalog lacks, which the crawl's own rows cannot show.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from psycopg.rows import class_row

from storecrawl.demo.database import Connection
from storecrawl.demo.platforms import offered_products, world_of
from storecrawl.demo.state import FolderState
from storecrawl.demo.upstream.world import World

# A store's last task is the one that stopped it.
UNREFRESHED = """
select store.id as store, store.name, store.state, coalesce(
    (select 'its id ' || location.platform_store_id || ' needs investigation: ' || location.because
     from storecrawl.locations as location
     where location.store_id = store.id and location.status = 'needs_investigation' limit 1),
    (select concat_ws(': ', task.handler || ' ' || task.id || ' ' || task.state, split_part(task.error, chr(10), 1))
     from rolecall.all_tasks as task where task.key = 'store:' || store.id order by task.id desc limit 1),
    'no task of it is kept'
) as reason
from storecrawl.stores as store
where store.crawl_enabled
    and not exists (select from storecrawl.payloads where store_id = store.id and applied_at is not null)
order by store.id
"""
UNSEARCHED = """
select state as place, error as reason from storecrawl.state_searches where failures > 0
union all
select state || '/' || name, error from storecrawl.cities where failures > 0
order by place
"""
NAMED = 3
# Payloads fetched before this world reached its current step do not belong to this cycle.
FETCHED = """
select store.id as store, store.name, store.platform, store.platform_store_id, array(
    select external_id from storecrawl.products where store_id = store.id
) as known
from storecrawl.stores as store
where exists (
    select from storecrawl.payloads where store_id = store.id and applied_at is not null and fetched_at >= %s
)
order by store.id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnrefreshedStore:
    """A store without a refreshed menu."""

    store: int
    name: str
    state: str | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsearchedPlace:
    """A state (AZ) or a city (AZ/Mesa) whose last search had no response."""

    place: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaps:
    """All gaps with their reasons."""

    stores: tuple[UnrefreshedStore, ...] = ()
    places: tuple[UnsearchedPlace, ...] = ()

    def sentences(self) -> Iterator[str]:
        for place in self.places:
            yield f"{place.place} was not searched: {place.reason}"
        for store in self.stores:
            where = f", {store.state}" if store.state else ""
            yield f"store {store.store} ({store.name}{where}) was not refreshed: {store.reason}"

    def summary(self) -> dict[str, Any]:
        return {
            "unrefreshed": [asdict(each) for each in self.stores],
            "unsearched": [asdict(each) for each in self.places],
        }


def find_gaps(connection: Connection) -> Gaps:
    """Find all gaps."""
    stores = connection.cursor(row_factory=class_row(UnrefreshedStore)).execute(UNREFRESHED).fetchall()
    places = connection.cursor(row_factory=class_row(UnsearchedPlace)).execute(UNSEARCHED).fetchall()
    return Gaps(stores=tuple(stores), places=tuple(places))


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingProducts:
    """Products that a store offers and the catalog lacks."""

    store: int
    name: str
    products: tuple[str, ...]

    def sentence(self) -> str:
        named = ", ".join(self.products[:NAMED]) + (" ..." if len(self.products) > NAMED else "")
        return f"store {self.store} ({self.name}) offers {len(self.products)} products that the catalog lacks: {named}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _FetchedStore:
    store: int
    name: str
    platform: str
    platform_store_id: str
    known: list[str]


def find_missing(connection: Connection, state: FolderState) -> tuple[MissingProducts, ...]:
    """Compare the catalog with the world, store by store, for a cycle during which time does not advance."""
    since = datetime.fromtimestamp(state.since, UTC)
    fetched = connection.cursor(row_factory=class_row(_FetchedStore)).execute(FETCHED, (since,)).fetchall()
    return tuple(_missing_products(fetched, world_of(state), int(state.step)))


def _missing_products(fetched: list[_FetchedStore], world: World, step: int) -> Iterator[MissingProducts]:
    for each in fetched:
        missing = offered_products(world, each.platform, each.platform_store_id, step) - set(each.known)
        if missing:
            yield MissingProducts(store=each.store, name=each.name, products=tuple(sorted(missing)))
