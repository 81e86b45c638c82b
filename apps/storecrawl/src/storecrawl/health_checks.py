"""The crawler's checks for Rolecall's doctor: routes, troubled stores, held menus, failing fetches, storage, lake."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import psycopg

from rolecall import Check, Finding, Severity
from storecrawl.catalog import (
    StoresInTrouble,
    count_blocked_stores,
    count_dark_stores,
    count_future_fetches,
    count_lost_ids,
    overdue_stores,
)
from storecrawl.catalog import quality as facts
from storecrawl.catalog.quality import FailingStores
from storecrawl.egress.repository import StoredRoute, list_routes
from storecrawl.lake.days import lake_lag
from storecrawl.payloads import PayloadError
from storecrawl.roles.crawler import Crawler
from storecrawl.roles.store_tasks import FETCHES
from storecrawl.settings import CrawlSettings

Connection = psycopg.AsyncConnection[Any]

QUALITY = "/quality"
MANY = 0.5
NAMED = 3
# Of ten requests of which every second one fails, hardly ever do that many fail in a row.
SILENT_AFTER = 10
ROUNDS = 2
MENU_ROLES = (*FETCHES, "product_refresh")
STORAGE_SECONDS = 5.0


async def routes(connection: Connection) -> list[Finding]:
    """Check whether there is a usable route, and which ones are paused or have no usable response."""
    found = await list_routes(connection)
    return [*_route_findings(found), *_silent_findings(found)]


async def blocked_stores(connection: Connection) -> list[Finding]:
    """Check whether the upstream refuses the menus of stores."""
    found = await count_blocked_stores(connection)
    if not found.blocked:
        return []
    return [
        Finding(
            severity=_severity(found.blocked, found.stores),
            problem=(
                f"{found.blocked:,} of {found.stores:,} stores are blocked, the first since {_moment(found.since)}: the"
                f" upstream refuses their menus on every route (last: {found.because})"
            ),
            advice="they are retried automatically, later each time; check what they have in common",
            path="/stores?blocked=yes",
        )
    ]


async def held_menus(connection: Connection) -> list[Finding]:
    """Check whether menus are held because they lost most of their products, or of a field's values."""
    stores = (await count_blocked_stores(connection)).stores
    return [
        Finding(
            severity=_severity(held.stores, stores),
            problem=(
                f"menus of {held.stores:,} of {stores:,} stores have lost their {held.field}, the first at"
                f" {_moment(held.since)}, and are held (last: {held.because})"
            ),
            advice="compare a held payload with the one before; a loss that stays is accepted after some rounds",
            path=QUALITY,
            count=held.stores,
            since=held.since,
        )
        for held in await facts.held_fields(connection)
    ]


async def lost_ids(connection: Connection) -> list[Finding]:
    """Check whether searches keep finding ids that the platform does not know."""
    found = await count_lost_ids(connection)
    if not found.found:
        return []
    problem = f"{_share(found)} need investigation: the platform has no menu for their id, but searches find it"
    advice = "check whether these stores still exist; link a location with the new id, or disable them"
    return [_store_finding(found, problem, advice, "/stores")]


async def future_fetches(connection: Connection) -> list[Finding]:
    """Check whether a fetch has a time in the future: a clock was ahead."""
    found = await count_future_fetches(connection)
    if not found.payloads:
        return []
    problem = (
        f"{found.payloads:,} payloads of {found.stores:,} stores have a fetch time in the future, the latest one of"
        f" store {found.store_id}: {_moment(found.fetched_at)}. The database's clock was ahead of its present time"
    )
    advice = "check the clock of the database's machine; newer menus are applied all the same"
    return [Finding(severity=Severity.WARNING, problem=problem, advice=advice, path="/payloads")]


CHECKS = (routes, blocked_stores, lost_ids, future_fetches, held_menus)


def rounds_of(crawler: Crawler) -> timedelta:
    """Return the time after which a store without a new menu is stale."""
    return timedelta(seconds=ROUNDS * crawler.settings.fetch_every)


def build_checks(crawler: Crawler) -> tuple[Check, ...]:
    """Return all checks, including those that depend on the settings."""
    settings, rounds = crawler.settings, rounds_of(crawler)

    async def dark_stores(connection: Connection) -> list[Finding]:
        """Check whether stores are without a menu for so long that their stock is unknown."""
        one_round = timedelta(seconds=settings.fetch_every)
        overdue = await overdue_stores(connection, settings.dark_after + one_round)
        dark = await count_dark_stores(connection)
        return [*_dark_findings(dark), *_overdue_findings(overdue, settings.dark_rounds)]

    async def failing_fetches(connection: Connection) -> list[Finding]:
        """Check whether fetches fail, by class of error."""
        stores = (await count_blocked_stores(connection)).stores
        return list(_failing_findings(await facts.failing_stores(connection, MENU_ROLES, rounds), stores))

    async def stale_stores(connection: Connection) -> list[Finding]:
        """Check whether stores have had no menu for some rounds."""
        found = await facts.stale_stores(connection, rounds)
        if not found.stale:
            return []
        problem = (
            f"{found.stale:,} of {found.stores:,} stores have had no menu for {ROUNDS} rounds, the first since"
            f" {_moment(found.oldest_at)}"
        )
        advice = "check whether workers fetch; look at the tasks of these stores"
        return [Finding(severity=_severity(found.stale, found.stores), problem=problem, advice=advice, path=QUALITY)]

    async def storage(_connection: Connection) -> list[Finding]:
        """Check whether the storage of the payloads can be used."""
        try:
            async with asyncio.timeout(STORAGE_SECONDS):
                await crawler.run_in_thread(crawler.payloads.look)
        except (PayloadError, TimeoutError) as problem:
            reason = problem.reason if isinstance(problem, PayloadError) else f"no response for {STORAGE_SECONDS:g} s"
            return [
                Finding(
                    severity=Severity.TROUBLE,
                    problem=f"the storage of the payloads cannot be used: {reason}. Nothing is fetched",
                    advice="once it is back, waiting tasks continue automatically",
                    path=QUALITY,
                )
            ]
        return []

    return (*CHECKS, dark_stores, failing_fetches, stale_stores, storage, _lake_check(settings))


def _lake_check(settings: CrawlSettings) -> Check:
    async def lake(connection: Connection) -> list[Finding]:
        """Check whether prices wait to be written to the lake for longer than some of its rounds."""
        if not settings.lake:
            return []
        found = await lake_lag(connection, timedelta(seconds=ROUNDS * settings.lake_every))
        if not found.stores:
            return []
        problem = f"the lake lacks prices of {found.stores:,} stores, the first since {_moment(found.since)}"
        advice = "look at the tasks of the role lake, and check its schedule"
        return [Finding(severity=Severity.WARNING, problem=problem, advice=advice, path="/roles/lake")]

    return lake


def _route_findings(found: Sequence[StoredRoute]) -> Iterator[Finding]:
    active = [route for route in found if route.active]
    paused = [route for route in active if route.paused_until is not None]
    if not active:
        cause = f"all {len(found)} are disabled" if found else "there are none"
        advice = "enable one, or add one with `storecrawl routes add`"
        yield _finding(Severity.TROUBLE, f"no outgoing route is active ({cause}): nothing can be fetched", advice)
    elif len(paused) == len(active):
        problem = (
            f"no outgoing route is active now, as all are paused ({_route_names(paused)}): hardly anything is fetched"
        )
        yield _finding(Severity.TROUBLE, problem, "each is retried automatically; more routes would help")
    elif paused:
        problem = f"{len(paused)} of {len(active)} outgoing routes are paused: {_route_names(paused)}"
        yield _finding(
            Severity.WARNING, problem, "each is retried automatically, and used as soon as a request succeeds"
        )


def _silent_findings(found: Sequence[StoredRoute]) -> Iterator[Finding]:
    active = [route for route in found if route.active]
    silent = [route for route in active if route.failed_in_a_row >= SILENT_AFTER]
    if silent:
        named = ", ".join(f"{route.label} ({route.last_error})" for route in silent[:NAMED]) + _others(silent)
        problem = (
            f"{len(silent)} of {len(active)} outgoing routes have no usable response: at least {SILENT_AFTER} requests"
            f" in a row failed on {named}"
        )
        severity = Severity.TROUBLE if len(silent) == len(active) else Severity.WARNING
        advice = "check whether the proxy and the upstream respond; disable routes that are gone"
        yield _finding(severity, problem, advice)


def _dark_findings(found: StoresInTrouble) -> Iterator[Finding]:
    if found.found:
        problem = (
            f"{_share(found)} are dark, the first since {_moment(found.since)}: they had no menu for some rounds, and"
            " their stock is unknown"
        )
        advice = "look at the tasks of these stores; each becomes light again with its next menu"
        yield _store_finding(found, problem, advice, "/stores?dark=yes")


def _overdue_findings(overdue: Sequence[int], rounds: int) -> Iterator[Finding]:
    if overdue:
        problem = (
            f"the stock of {len(overdue):,} stores still counts, though they had no menu for more than"
            f" {rounds} rounds (ids: {', '.join(map(str, overdue[:NAMED]))})"
        )
        advice = "payload_fetch_all makes them dark at the start of its next round; check its schedule"
        yield Finding(severity=Severity.WARNING, problem=problem, advice=advice, path="/stores")


def _failing_findings(found: Sequence[FailingStores], stores: int) -> Iterator[Finding]:
    for failing in found:
        severity = _severity(failing.stores, stores)
        # Single attempts fail all the time, and the next one succeeds.
        if failing.lasting or severity is Severity.TROUBLE:
            yield Finding(
                severity=severity,
                problem=(
                    f"menus of {failing.stores:,} of {stores:,} stores cannot be fetched or read, the first since"
                    f" {_moment(failing.since)} (last: {failing.last})"
                ),
                advice=f"compare the tasks that fail with {failing.error}; they are retried automatically",
                path=QUALITY,
                count=failing.stores,
                since=failing.since,
            )


def _severity(concerned: int, stores: int) -> Severity:
    return Severity.TROUBLE if concerned >= MANY * stores else Severity.WARNING


def _store_finding(found: StoresInTrouble, problem: str, advice: str, path: str) -> Finding:
    examples = ", ".join(found.examples)
    return Finding(
        severity=_severity(found.found, found.stores), problem=f"{problem} ({examples})", advice=advice, path=path
    )


def _share(found: StoresInTrouble) -> str:
    return f"{found.found:,} of {found.stores:,} stores"


def _finding(severity: Severity, problem: str, advice: str) -> Finding:
    return Finding(severity=severity, problem=problem, advice=advice, path="/routes")


def _route_names(paused: Sequence[StoredRoute]) -> str:
    named = ", ".join(f"{route.label} until {_moment(route.paused_until)}" for route in paused[:NAMED])
    return named + _others(paused)


def _others(routes: Sequence[StoredRoute]) -> str:
    return f" and {len(routes) - NAMED} more" if len(routes) > NAMED else ""


def _moment(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M %Z}" if moment else "some time"
