"""The crawler's checks for Rolecall's doctor: routes, blocked, dark and lost stores, fetches in the future."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import psycopg

from rolecall import Finding, Severity
from storecrawl.catalog import (
    StoresInTrouble,
    count_blocked_stores,
    count_dark_stores,
    count_future_fetches,
    count_lost_ids,
    overdue_stores,
)
from storecrawl.egress.repository import StoredRoute, list_routes
from storecrawl.settings import CrawlSettings

Connection = psycopg.AsyncConnection[Any]

MANY = 0.5
NAMED = 3


async def routes(connection: Connection) -> list[Finding]:
    """Check whether there is a usable route, and which ones are paused."""
    return list(_route_findings(await list_routes(connection)))


async def blocked_stores(connection: Connection) -> list[Finding]:
    """Check whether the upstream refuses the menus of stores."""
    found = await count_blocked_stores(connection)
    if not found.blocked:
        return []
    is_bad = found.blocked >= MANY * found.stores
    return [
        Finding(
            severity=Severity.TROUBLE if is_bad else Severity.WARNING,
            problem=(
                f"{found.blocked:,} of {found.stores:,} stores are blocked, the first since {_moment(found.since)}: the"
                f" upstream refuses their menus on every route (last: {found.because})"
            ),
            advice="they are retried automatically, later each time; check what they have in common",
            path="/stores?blocked=yes",
        )
    ]


async def dark_stores(connection: Connection) -> list[Finding]:
    """Check whether stores are without a menu for so long that their stock is unknown."""
    found = await count_dark_stores(connection)
    findings = []
    if found.found:
        problem = (
            f"{_share(found)} are dark, the first since {_moment(found.since)}: they had no menu for some rounds, and"
            " their stock is unknown"
        )
        advice = "look at the tasks of these stores; each becomes light again with its next menu"
        findings.append(_store_finding(found, problem, advice, "/stores?dark=yes"))
    settings = CrawlSettings.from_environment()
    one_round = timedelta(seconds=settings.fetch_every)
    if overdue := await overdue_stores(connection, settings.dark_after + one_round):
        problem = (
            f"the stock of {len(overdue):,} stores still counts, though they had no menu for more than"
            f" {settings.dark_rounds} rounds (ids: {', '.join(map(str, overdue[:NAMED]))})"
        )
        advice = "payload_fetch_all makes them dark at the start of its next round; check its schedule"
        findings.append(Finding(severity=Severity.WARNING, problem=problem, advice=advice, path="/stores"))
    return findings


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


CHECKS = (routes, blocked_stores, dark_stores, lost_ids, future_fetches)


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


def _store_finding(found: StoresInTrouble, problem: str, advice: str, path: str) -> Finding:
    severity = Severity.TROUBLE if found.found >= MANY * found.stores else Severity.WARNING
    return Finding(severity=severity, problem=f"{problem} ({', '.join(found.examples)})", advice=advice, path=path)


def _share(found: StoresInTrouble) -> str:
    return f"{found.found:,} of {found.stores:,} stores"


def _finding(severity: Severity, problem: str, advice: str) -> Finding:
    return Finding(severity=severity, problem=problem, advice=advice, path="/routes")


def _route_names(paused: Sequence[StoredRoute]) -> str:
    named = ", ".join(f"{route.label} until {_moment(route.paused_until)}" for route in paused[:NAMED])
    return named + (f" and {len(paused) - NAMED} more" if len(paused) > NAMED else "")


def _moment(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M %Z}" if moment else "some time"
