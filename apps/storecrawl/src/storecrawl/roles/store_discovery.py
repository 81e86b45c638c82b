"""store_discovery: find the platforms' stores, promote the valid ones, and enqueue each new one's first crawl.

    store_discovery             sums up the reports of all its children
      discover_state ...        one per platform and state: promotes the stores listed for the state
      discover_city ...         one per city of a state, spawned by its discover_state: promotes its stores

Each state and city is a separate task: it is retried independently, its findings commit with its completion, and
completed ones are not repeated after a crash. Failed ones are recorded in their rows and in the result; the others
continue.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from rolecall import App, Context, NewTask, PermanentFailure, TaskState
from storecrawl.catalog.discovery import (
    US_STATES,
    AnswerKind,
    SearchedArea,
    discover_locations,
    enter_cities,
    note_area_failed,
    note_city_crawled,
    promote_locations,
)
from storecrawl.platforms.errors import UpstreamFailure
from storecrawl.platforms.protocol import Area
from storecrawl.roles.crawler import Crawler, store_key
from storecrawl.roles.fetch_archive import archive_answer

Report = dict[str, Any]


def add_store_discovery(app: App, crawler: Crawler) -> None:
    """Register the handlers."""

    @app.task(role="store_discovery")
    async def discover_city(ctx: Context, state: str, city: str, platform: str) -> None:
        """Find the stores of a city and promote the valid ones; the result is a report."""
        await _discover(ctx, crawler, SearchedArea(platform=platform, state=state, city=city))

    @app.task(role="store_discovery")
    async def discover_state(ctx: Context, state: str, platform: str) -> None:
        """Search a state: promote its stores, and add a sibling for each of its cities; the result is a report."""
        await _discover(ctx, crawler, SearchedArea(platform=platform, state=state))

    @app.task(role="store_discovery", then=crawl_new_stores, gather=_sum_up)
    async def store_discovery(
        ctx: Context, states: list[str] | None = None, state: str | None = None, platform: str | None = None
    ) -> None:
        """Discover stores of a platform or of all, state by state.

        The result has `newStoreIds`; each of them gets a product_discovery.
        """
        named = [*(states or ()), *([state] if state else ())]
        for name in [platform] if platform else crawler.settings.platforms:
            crawler.platform(name)
            chosen = named or list(crawler.settings.of(name).states) or list(US_STATES)
            ctx.spawn(*(_child("discover_state", platform=name, state=state) for state in dict.fromkeys(chosen)))


def covered_states(crawler: Crawler, platform: str) -> frozenset[str]:
    """Return the codes of the states whose stores on a platform are crawled."""
    return frozenset(crawler.settings.of(platform).states or US_STATES)


async def _discover(ctx: Context, crawler: Crawler, area: SearchedArea) -> None:
    platform = crawler.platform(area.platform)
    async with _recording_failure(ctx, area):
        found = await platform.discover(Area(state=area.state, city=area.city))
    kind: AnswerKind = "stores" if area.city or found.stores else "cities"
    answer = await archive_answer(ctx, crawler, area.platform, kind, _place(area.state, area.city), found.records)
    async with ctx.transaction() as tx:
        await answer.record(tx, ctx)
        report = await discover_locations(tx, found.stores)
        ids = [store.platform_store_id for store in found.stores]
        covered = {*covered_states(crawler, area.platform), area.state}
        new = await promote_locations(tx, platform.spec.rules, ids, covered=covered, by=f"task {ctx.task_id}")
        if area.city is None:
            await enter_cities(tx, area, found.cities)
            names = dict.fromkeys(city.name for city in found.cities)
            children = {"platform": area.platform, "state": area.state}
            ctx.spawn_sibling(*(_child("discover_city", **children, city=name) for name in names))
        else:
            await note_city_crawled(tx, area, len(found.records))
        await ctx.complete(tx, _report(new, report.new, report.known, int(kind == "stores")))


def crawl_new_stores(report: Report) -> Iterable[NewTask]:
    """Return the first crawls of new stores."""
    return map(first_crawl, report["newStoreIds"])


def discovery_task(states: Sequence[str] = (), platform: str | None = None) -> NewTask:
    """Return the task that searches for stores; an open one with the same platform and states is kept."""
    place = {"states": list(states)} if states else {}
    return NewTask(
        handler="store_discovery",
        payload=place | ({"platform": platform} if platform else {}),
        dedupe_key=",".join(["discovery", *filter(None, [platform]), *states]),
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


async def _sum_up(
    ctx: Context,
    states: list[str] | None = None,  # noqa: ARG001 - a step takes its task's payload
    state: str | None = None,  # noqa: ARG001 - as above
    platform: str | None = None,  # noqa: ARG001 - as above
) -> Report:
    children = await ctx.children()
    found = [child.result for child in children if child.state is TaskState.COMPLETED]
    lost = [_place(**child.payload) for child in children if child.state is not TaskState.COMPLETED]
    report = {
        "newStoreIds": sorted({store_id for each in found for store_id in each["newStoreIds"]}),
        **{name: sum(each[name] for each in found) for name in ("new", "known", "cities")},
        "failed": lost,
    }
    if lost and not report["cities"]:
        raise PermanentFailure(f"nothing was found, and there was no response for {', '.join(lost)}")
    return report


def _place(state: str, city: str | None = None, **_: str) -> str:
    return state if city is None else f"{state}/{city}"


def _report(new_store_ids: Sequence[int], new: int, known: int, cities: int) -> Report:
    return {"newStoreIds": list(new_store_ids), "new": new, "known": known, "cities": cities, "failed": []}


def _child(handler: str, **payload: str) -> NewTask:
    return NewTask(handler=handler, payload=payload, on_failure="ignore")


@asynccontextmanager
async def _recording_failure(ctx: Context, area: SearchedArea) -> AsyncIterator[None]:
    try:
        yield
    except UpstreamFailure as failure:
        async with ctx.transaction() as tx:
            await note_area_failed(tx, area, str(failure))
        raise
