"""store_discovery: find the platform's stores, promote those that validate, and send each new one on its way."""

from __future__ import annotations

from functools import partial

from rolecall import App, Context, NewTask
from storecrawl.catalog import DiscoveredStore, discover_locations, promote_locations, read_stores
from storecrawl.crawler import Crawler, store_key
from storecrawl.roles.asking import ask_about_all
from storecrawl.upstream import City

US_STATES = [
    "AK", "AL", "AR", "AZ", "CA", "CO", "CT", "DC", "DE", "FL", "GA", "HI", "IA", "ID", "IL", "IN", "KS",
    "KY", "LA", "MA", "MD", "ME", "MI", "MN", "MO", "MS", "MT", "NC", "ND", "NE", "NH", "NJ", "NM", "NV",
    "NY", "OH", "OK", "OR", "PA", "RI", "SC", "SD", "TN", "TX", "UT", "VA", "VT", "WA", "WI", "WV", "WY",
]  # fmt: skip


def add_store_discovery(app: App, crawler: Crawler) -> None:
    """Define the handler."""

    @app.task(role="store_discovery")
    async def store_discovery(ctx: Context, states: list[str] | None = None) -> None:
        """Discover stores, state by state; completes with `newStoreIds`, each followed by product_discovery."""
        covered = states or list(crawler.settings.states) or US_STATES
        cities = await ask_about_all(crawler.upstream.cities, covered)
        seen = await ask_about_all(partial(_stores_of_city, crawler), cities)
        async with ctx.transaction() as tx:
            report = await discover_locations(tx, seen)
            new = await promote_locations(tx)
            for store_id in new:
                ctx.follow_up(first_crawl(store_id))
            await ctx.complete(tx, {"newStoreIds": new, "new": report.new, "known": report.known})


def first_crawl(store_id: int) -> NewTask:
    """The task that a store begins with."""
    return NewTask(
        handler="product_discovery",
        payload={"store_id": store_id},
        key=store_key(store_id),
        dedupe_key=store_key(store_id),
        priority=5,
    )


async def _stores_of_city(crawler: Crawler, city: City) -> list[DiscoveredStore]:
    stores = await crawler.upstream.stores(state=city.state, city=city.name)
    return read_stores(store.raw for store in stores)
