"""entry_point_discovery: find a store's platform id from whatever is known about it.

    1. search the locations that discovery has found
    2. query the upstream, up to five times if the network fails
    3. leave it to a person: needs_investigation, with the reason

A store whose id the platform has changed is thus crawled by its new id automatically. A search that finds the
unknown id again changes nothing: after three of them in a row, the store needs investigation.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from rolecall import App, Cancel, Context
from storecrawl.catalog import SAME_ID_LIMIT, LocationRefused, Store, count_same_id, find_store
from storecrawl.catalog.discovery import (
    discover_locations,
    find_by_entry,
    investigate_entry,
    investigate_store,
    link_location,
    promote_locations,
    settle_entry,
)
from storecrawl.catalog.store_records import DiscoveredStore
from storecrawl.platforms.errors import NoEntryPoint, UnknownStore, UpstreamFailure
from storecrawl.platforms.registry import PLATFORMS
from storecrawl.roles.crawler import STORE_KEY, Crawler
from storecrawl.roles.fetch_archive import Connection, archive_answer
from storecrawl.roles.payload_fetch import fetch_task
from storecrawl.roles.store_discovery import covered_states, first_crawl

NETWORK_RETRIES = 5
LONGEST_WAIT = 30.0
KNOWN = "location"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRequest:
    """A request for the store behind an entry point of a platform, or for the current id of a known store."""

    platform: str
    entry: str
    store: Store | None

    @property
    def name(self) -> str:
        """The name to look up: the slug of a known store, since its id is in doubt; otherwise that of the entry."""
        slug = None if self.store is None else self.store.slug
        return slug or PLATFORMS[self.platform].entry_name(self.entry) or self.entry

    @property
    def old_id(self) -> str | None:
        return None if self.store is None else self.store.platform_store_id


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedEntry:
    """The platform's id, and how it was found."""

    platform_store_id: str
    way: str


def add_entry_point_discovery(app: App, crawler: Crawler) -> None:
    """Register the handler."""

    @app.task(role="entry_point_discovery", key=STORE_KEY)
    async def entry_point_discovery(
        ctx: Context, entry: str | None = None, store_id: int | None = None, platform: str | None = None
    ) -> Cancel | None:
        """Resolve a slug, a platform id or a menu address; with `store_id`, find that store's current id.

        Without `entry`, use the platform id or the slug of the store. The platform is that of the store, otherwise
        the given one or the only crawled one.
        """
        request = await _entry_request(ctx, crawler, entry, store_id, platform)
        if isinstance(request, Cancel):
            return request
        if crawler.platform(request.platform).entry_name(request.entry) is None:
            return Cancel(str(NoEntryPoint(request.entry)))
        found = await _find_location(ctx, request) or await _resolve_upstream(ctx, crawler, request)
        async with ctx.transaction() as tx:
            if isinstance(found, ResolvedEntry):
                result = await _apply(tx, ctx, crawler, request, found)
            else:
                result = await _request_investigation(tx, ctx, request, found)
            await ctx.complete(tx, result)
        return None


async def _entry_request(
    ctx: Context, crawler: Crawler, entry: str | None, store_id: int | None, platform: str | None
) -> EntryRequest | Cancel:
    async with ctx.transaction() as tx:
        store = None if store_id is None else await find_store(tx, store_id)
    crawled = list(crawler.settings.platforms)
    found = (store and store.platform) or platform or (crawled[0] if len(crawled) == 1 else None)
    if found is None:
        return Cancel(f"the entry point needs a platform: {', '.join(crawled)}")
    return EntryRequest(platform=found, entry=entry or (store and store.entry) or "", store=store)


async def _find_location(ctx: Context, request: EntryRequest) -> ResolvedEntry | None:
    async with ctx.transaction() as tx:
        known = await find_by_entry(tx, request.platform, request.name, other_than=request.old_id)
    return ResolvedEntry(platform_store_id=known.platform_store_id, way=KNOWN) if known else None


async def _resolve_upstream(ctx: Context, crawler: Crawler, request: EntryRequest) -> ResolvedEntry | str:
    platform, endpoint = crawler.platform(request.platform), request.store.endpoint if request.store else None
    for retry in range(NETWORK_RETRIES + 1):
        try:
            resolution = await platform.resolve(request.name, endpoint)
        except UnknownStore as unknown:
            return str(unknown)
        except UpstreamFailure as failure:
            if not failure.retryable or retry == NETWORK_RETRIES:
                return f"no response after {retry + 1} attempts: {failure}"
            await asyncio.sleep(min(crawler.settings.backoff * 2.0**retry, LONGEST_WAIT))
        else:
            await _record_location(ctx, crawler, request, resolution.store)
            return ResolvedEntry(platform_store_id=resolution.store.platform_store_id, way=resolution.way)
    raise AssertionError("the last attempt returns")


async def _record_location(ctx: Context, crawler: Crawler, request: EntryRequest, store: DiscoveredStore) -> None:
    answer = await archive_answer(ctx, crawler, request.platform, "entry", request.name, [store.raw])
    async with ctx.transaction() as tx:
        await answer.record(tx, ctx)
        await discover_locations(tx, [store])


async def _apply(
    tx: Connection, ctx: Context, crawler: Crawler, request: EntryRequest, found: ResolvedEntry
) -> dict[str, Any]:
    facts = {"platformStoreId": found.platform_store_id, "way": found.way}
    if request.store is not None and found.platform_store_id != request.old_id:
        return facts | await _switch_id(tx, ctx, request, request.store, found)
    if request.store is not None and (reason := await _lost_id(tx, request.store)):
        return facts | await _request_investigation(tx, ctx, request, reason)
    rules, covered = PLATFORMS[request.platform].spec.rules, covered_states(crawler, request.platform)
    new = await promote_locations(tx, rules, [found.platform_store_id], covered=covered, by=_author(ctx))
    for store_id in new:
        ctx.follow_up(first_crawl(store_id))
    await settle_entry(tx, request.platform, request.entry, found.platform_store_id, by=_author(ctx))
    return facts | {"newStoreIds": new}


async def _lost_id(tx: Connection, store: Store) -> str | None:
    """Count a search that found the store's own id; return a reason for an investigation if they are too many."""
    finds = await count_same_id(tx, store.id)
    if finds < SAME_ID_LIMIT:
        return None
    return f"the platform has no menu for {store.platform_store_id}, and {finds} searches in a row found the same id"


async def _switch_id(
    tx: Connection, ctx: Context, request: EntryRequest, store: Store, found: ResolvedEntry
) -> dict[str, Any]:
    """Switch the store to its new id; if another store has that id, a person must decide."""
    reason = f"the platform no longer knows {store.platform_store_id}; {store.slug} is now {found.platform_store_id}"
    await investigate_store(tx, store.id, by=_author(ctx), reason=reason)
    known = await find_by_entry(tx, request.platform, found.platform_store_id)
    if known is None:
        return {"needsInvestigation": reason}
    try:
        await link_location(tx, known.id, store.id, by=_author(ctx), reason=reason)
    except LocationRefused as refusal:
        await investigate_store(tx, store.id, by=_author(ctx), reason=f"{reason}: {refusal}")
        return {"needsInvestigation": str(refusal)}
    ctx.follow_up(fetch_task(store.id))
    return {"healedStoreId": store.id}


async def _request_investigation(tx: Connection, ctx: Context, request: EntryRequest, reason: str) -> dict[str, Any]:
    if request.store is not None and request.old_id is not None:
        location = await investigate_store(tx, request.store.id, by=_author(ctx), reason=reason)
    else:
        location = await investigate_entry(tx, request.platform, request.entry, by=_author(ctx), reason=reason)
    return {"needsInvestigation": reason, "locationId": location}


def _author(ctx: Context) -> str:
    return f"task {ctx.task_id}"
