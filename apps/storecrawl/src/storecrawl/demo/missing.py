"""Products that the local upstream offers and the catalog lacks: no look at the crawl's own rows could see them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from psycopg.rows import class_row

from storecrawl.demo.database import Connection
from storecrawl.demo.memory import Memory
from storecrawl.demo.upstream import UpstreamOptions
from storecrawl.demo.upstream.world import World

NAMED = 3
# What was fetched before this world stood at its present step is none of this cycle's.
FETCHED = """
select store.id as store, store.name, store.platform_store_id, array(
    select external_id from storecrawl.products where store_id = store.id
) as known
from storecrawl.stores as store
where exists (
    select from storecrawl.payloads where store_id = store.id and applied_at is not null and fetched_at >= %s
)
order by store.id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingProducts:
    """Products of a store that were to be had and are not there."""

    store: int
    name: str
    products: tuple[str, ...]

    def sentence(self) -> str:
        """Say it."""
        named = ", ".join(self.products[:NAMED]) + (" ..." if len(self.products) > NAMED else "")
        return f"store {self.store} ({self.name}) lacks {len(self.products)} products that it offers: {named}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fetched:
    store: int
    name: str
    platform_store_id: str
    known: list[str]


def find_missing(connection: Connection, memory: Memory) -> tuple[MissingProducts, ...]:
    """Compare the catalog with the world of a cycle in which time stands still, store by store."""
    since = datetime.fromtimestamp(memory.since, UTC)
    fetched = connection.cursor(row_factory=class_row(_Fetched)).execute(FETCHED, (since,)).fetchall()
    return tuple(_missing(fetched, World(UpstreamOptions(stores=memory.stores, seed=memory.seed)), int(memory.step)))


def _missing(fetched: list[_Fetched], world: World, step: int) -> Iterator[MissingProducts]:
    for each in fetched:
        lacking = world.offered(each.platform_store_id, step) - set(each.known)
        if lacking:
            yield MissingProducts(store=each.store, name=each.name, products=tuple(sorted(lacking)))
