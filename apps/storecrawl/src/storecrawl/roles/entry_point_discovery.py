"""entry_point_discovery: find a store's platform id from whatever is known about it.

    1. search the locations that discovery has found
    2. query the upstream, up to five times if the network fails
    3. leave it to a person: needs_investigation, with the reason

A store whose id the platform has changed is thus crawled by its new id automatically.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from rolecall import App, Cancel, Context
from storecrawl.catalog import LocationRefused, Store, find_store, read_stores
from storecrawl.catalog.discovery import (
    discover_locations,
    find_by_entry,
    investigate_entry,
    investigate_store,
    link_location,
    promote_locations,
    settle_entry,
)
from storecrawl.roles.crawler import STORE_KEY, Crawler
from storecrawl.roles.kept_answers import Connection, keep_answer
from storecrawl.roles.payload_fetch import fetch_task
from storecrawl.roles.store_discovery import covered_states, first_crawl
from storecrawl.upstream import NoEntryPoint, UnknownStore, UpstreamFailure, slug_of

NETWORK_RETRIES = 5
LONGEST_WAIT = 30.0
KNOWN = "location"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A request for the store behind an entry point, or for the current id of a known store."""

    entry: str
    store: Store | None

    @property
    def name(self) -> str:
        """The name to look up: the slug of a known store, since its id is in doubt; otherwise that of the entry."""
        slug = None if self.store is None else self.store.slug
        return slug or slug_of(self.entry) or self.entry

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
    async def entry_point_discovery(ctx: Context, entry: str, store_id: int | None = None) -> Cancel | None:
        """Resolve a slug, a platform id or a menu address; with `store_id`, find that store's current id."""
        if slug_of(entry) is None:
            return Cancel(str(NoEntryPoint(entry)))
        question = await _question(ctx, entry, store_id)
        found = await _among_locations(ctx, question) or await _from_upstream(ctx, crawler, question)
        async with ctx.transaction() as tx:
            if isinstance(found, ResolvedEntry):
                result = await _use(tx, ctx, crawler, question, found)
            else:
                result = await _leave_to_a_person(tx, ctx, question, found)
            await ctx.complete(tx, result)
        return None


async def _question(ctx: Context, entry: str, store_id: int | None) -> Question:
    async with ctx.transaction() as tx:
        return Question(entry=entry, store=None if store_id is None else await find_store(tx, store_id))


async def _among_locations(ctx: Context, question: Question) -> ResolvedEntry | None:
    async with ctx.transaction() as tx:
        known = await find_by_entry(tx, question.name, other_than=question.old_id)
    return ResolvedEntry(platform_store_id=known.platform_store_id, way=KNOWN) if known else None


async def _from_upstream(ctx: Context, crawler: Crawler, question: Question) -> ResolvedEntry | str:
    for retry in range(NETWORK_RETRIES + 1):
        try:
            resolution = await crawler.upstream.resolve(question.name)
        except UnknownStore as unknown:
            return str(unknown)
        except UpstreamFailure as failure:
            if not failure.retryable or retry == NETWORK_RETRIES:
                return f"no response after {retry + 1} attempts: {failure}"
            await asyncio.sleep(min(crawler.settings.backoff * 2.0**retry, LONGEST_WAIT))
        else:
            await _enter(ctx, crawler, question, resolution.store.raw)
            return ResolvedEntry(platform_store_id=resolution.store.id, way=resolution.way.value)
    raise AssertionError("the last attempt returns")


async def _enter(ctx: Context, crawler: Crawler, question: Question, raw: dict[str, Any]) -> None:
    answer = await keep_answer(ctx, crawler, "entry", question.name, [raw])
    async with ctx.transaction() as tx:
        await answer.record(tx, ctx)
        await discover_locations(tx, read_stores([raw]))


async def _use(
    tx: Connection, ctx: Context, crawler: Crawler, question: Question, found: ResolvedEntry
) -> dict[str, Any]:
    facts = {"platformStoreId": found.platform_store_id, "way": found.way}
    if question.store is not None and found.platform_store_id != question.old_id:
        return facts | await _heal(tx, ctx, question.store, found)
    new = await promote_locations(tx, [found.platform_store_id], covered_states(crawler), _who(ctx))
    for store_id in new:
        ctx.follow_up(first_crawl(store_id))
    await settle_entry(tx, question.entry, found.platform_store_id, by=_who(ctx))
    return facts | {"newStoreIds": new}


async def _heal(tx: Connection, ctx: Context, store: Store, found: ResolvedEntry) -> dict[str, Any]:
    """Switch the store to its new id; if another store has that id, a person must decide."""
    because = f"the platform no longer knows {store.platform_store_id}; {store.slug} is now {found.platform_store_id}"
    await investigate_store(tx, store.id, by=_who(ctx), because=because)
    known = await find_by_entry(tx, found.platform_store_id)
    if known is None:
        return {"needsInvestigation": because}
    try:
        await link_location(tx, known.id, store.id, by=_who(ctx), because=because)
    except LocationRefused as refusal:
        await investigate_store(tx, store.id, by=_who(ctx), because=f"{because}: {refusal}")
        return {"needsInvestigation": str(refusal)}
    ctx.follow_up(fetch_task(store.id))
    return {"healedStoreId": store.id}


async def _leave_to_a_person(tx: Connection, ctx: Context, question: Question, because: str) -> dict[str, Any]:
    if question.store is not None and question.old_id is not None:
        location = await investigate_store(tx, question.store.id, by=_who(ctx), because=because)
    else:
        location = await investigate_entry(tx, question.entry, by=_who(ctx), because=because)
    return {"needsInvestigation": because, "locationId": location}


def _who(ctx: Context) -> str:
    return f"task {ctx.task_id}"
