"""store_discovery: find the platform's stores, promote the valid ones, and enqueue each new one's first crawl.

    store_discovery ──► discover_state, one per state ──► discover_city, one per city
          ▲ sums up           ▲ sums up                      promotes; its report is the task's result

Each city is a separate task: it is retried independently, its findings commit with its completion, and
completed cities are not repeated after a crash. Failed cities are recorded in their rows and in the
result; the others continue.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from rolecall import App, Context, NewTask, PermanentFailure, TaskState
from storecrawl.catalog import read_stores
from storecrawl.catalog.discovery import (
    US_STATES,
    NamedCity,
    discover_locations,
    enter_cities,
    note_city_crawled,
    note_city_failed,
    note_state_failed,
    promote_locations,
)
from storecrawl.platforms.dutchie import City
from storecrawl.platforms.errors import UpstreamFailure
from storecrawl.roles.crawler import Crawler, store_key
from storecrawl.roles.fetch_archive import Connection, archive_answer

Report = dict[str, Any]
Note = Callable[[Connection, str], Awaitable[None]]


def add_store_discovery(app: App, crawler: Crawler) -> None:
    """Register the handlers."""

    @app.task(role="store_discovery")
    async def discover_city(ctx: Context, state: str, city: str) -> None:
        """Find the stores of a city and promote the valid ones; the result is a report."""
        async with _recording_failure(ctx, partial(_city_failed, state, city)):
            stores = await crawler.upstream.stores(state=state, city=city)
        answer = await archive_answer(ctx, crawler, "stores", _place(state, city), [store.raw for store in stores])
        seen = read_stores(store.raw for store in stores)
        async with ctx.transaction() as tx:
            await answer.record(tx, ctx)
            report = await discover_locations(tx, seen)
            ids = [store.platform_store_id for store in seen]
            new = await promote_locations(tx, ids, {*covered_states(crawler), state}, f"task {ctx.task_id}")
            await note_city_crawled(tx, state, city, len(stores))
            await ctx.complete(tx, _report(new, report.new, report.known, 1))

    @app.task(role="store_discovery", gather=_sum_up_state)
    async def discover_state(ctx: Context, state: str) -> None:
        """Get the cities of a state, and spawn a task for each."""
        async with _recording_failure(ctx, partial(_state_failed, state)):
            cities = await crawler.upstream.cities(state)
        answer = await archive_answer(ctx, crawler, "cities", state, [city.raw for city in cities])
        async with ctx.transaction() as tx:
            await answer.record(tx, ctx)
            await enter_cities(tx, state, [_city_record(city) for city in cities])
            names = dict.fromkeys(city.name for city in cities)
            ctx.spawn(*(_child("discover_city", state=state, city=name) for name in names))
            await ctx.complete(tx, _report([], 0, 0, 0))

    @app.task(role="store_discovery", then=crawl_new_stores, gather=_sum_up)
    async def store_discovery(ctx: Context, states: list[str] | None = None, state: str | None = None) -> None:
        """Discover stores, state by state. The result has `newStoreIds`; each of them gets a product_discovery."""
        named = [*(states or ()), *([state] if state else ())]
        chosen = named or list(crawler.settings.states) or list(US_STATES)
        ctx.spawn(*(_child("discover_state", state=state) for state in dict.fromkeys(chosen)))


def covered_states(crawler: Crawler) -> frozenset[str]:
    """Return the codes of the states whose stores are crawled."""
    return frozenset(crawler.settings.states or US_STATES)


def crawl_new_stores(report: Report) -> Iterable[NewTask]:
    """Return the first crawls of new stores."""
    return map(first_crawl, report["newStoreIds"])


def discovery_task(states: Sequence[str] = ()) -> NewTask:
    """Return the task that searches for stores; an open one with the same states is kept."""
    return NewTask(
        handler="store_discovery",
        payload={"states": list(states)} if states else {},
        dedupe_key=",".join(["discovery", *states]),
        priority=5,
    )


def first_crawl(store_id: int) -> NewTask:
    """Return the first crawl of a store."""
    return NewTask(
        handler="product_discovery",
        payload={"store_id": store_id},
        dedupe_key=store_key(store_id),
        priority=5,
    )


async def _sum_up_state(ctx: Context, state: str) -> Report:  # noqa: ARG001 - a step takes its task's payload
    return await _sum_reports(ctx)


async def _sum_up(
    ctx: Context,
    states: list[str] | None = None,  # noqa: ARG001 - as above
    state: str | None = None,  # noqa: ARG001 - as above
) -> Report:
    report = await _sum_reports(ctx)
    if not report["cities"] and report["failed"]:
        raise PermanentFailure(f"nothing was found, and there was no response for {', '.join(report['failed'])}")
    return report


async def _sum_reports(ctx: Context) -> Report:
    children = await ctx.children()
    found = [child.result for child in children if child.state is TaskState.COMPLETED]
    lost = [_place(**child.payload) for child in children if child.state is not TaskState.COMPLETED]
    return {
        "newStoreIds": sorted({store_id for each in found for store_id in each["newStoreIds"]}),
        **{name: sum(each[name] for each in found) for name in ("new", "known", "cities")},
        "failed": [*lost, *(name for each in found for name in each["failed"])],
    }


def _place(state: str, city: str | None = None) -> str:
    return state if city is None else f"{state}/{city}"


def _report(new_store_ids: Sequence[int], new: int, known: int, cities: int) -> Report:
    return {"newStoreIds": list(new_store_ids), "new": new, "known": known, "cities": cities, "failed": []}


def _child(handler: str, **payload: str) -> NewTask:
    return NewTask(handler=handler, payload=payload, on_failure="ignore")


def _city_record(city: City) -> NamedCity:
    longitude, latitude = (city.geometry and city.geometry.coordinates) or (None, None)
    return NamedCity(
        name=city.name,
        slug=city.slug,
        country=city.country,
        latitude=latitude,
        longitude=longitude,
        stores_told=city.store_count,
    )


async def _city_failed(state: str, city: str, connection: Connection, error: str) -> None:
    await note_city_failed(connection, state, city, error)


async def _state_failed(state: str, connection: Connection, error: str) -> None:
    await note_state_failed(connection, state, error)


@asynccontextmanager
async def _recording_failure(ctx: Context, note: Note) -> AsyncIterator[None]:
    try:
        yield
    except UpstreamFailure as failure:
        async with ctx.transaction() as tx:
            await note(tx, str(failure))
        raise
