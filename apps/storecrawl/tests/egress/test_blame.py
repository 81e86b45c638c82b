"""Attribution of 403 responses to a route, to a store, or to neither.

A blamed route is paused, probed by one visit, and paused for longer if the probe fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest
from storecrawl.egress import EgressOptions, Recorder, RouteProtocol
from storecrawl.egress.counters import Counters
from storecrawl.egress.recorder import Verdict
from storecrawl.egress.repository import NewRoute, add_route, enable_route

from .conftest import QUICK, Book

ONLY_ONCE = replace(QUICK, retries=0)
OPTIONS = EgressOptions(forbidden_limit=3, pause=60.0, longest_pause=300.0)
Forbid = Callable[..., Any]


@pytest.fixture
async def recorder(database: str) -> AsyncIterator[Recorder]:
    recorder = Recorder(database)
    yield recorder
    await recorder.close()


@pytest.fixture
def forbid(recorder: Recorder) -> Forbid:
    """Report that these stores were forbidden on a route, optionally after a good response; return its verdict."""

    async def report(route: int, *stores: str, recovered: bool = False) -> Verdict:
        counters = Counters()
        if recovered:
            counters.count_success(route, recovered=True)
        for store in stores:
            counters.count_forbidden(route, f"profile of {store}", store, "HTTP 403")
        return (await recorder.report(counters.take(), OPTIONS))[route]

    return report


async def test_successful_response_clears_earlier_forbidden_visits(book: Book, forbid: Forbid) -> None:
    route = book.add()

    verdicts = [await forbid(route, "a", "b"), await forbid(route, "c", recovered=True), await forbid(route, "d")]

    assert verdicts == [Verdict(active=True, paused_for=None, is_blamed=False)] * 3
    assert book.connection.execute("select about from storecrawl.forbidden_visits order by 1").fetchall() == [
        ("c",),
        ("d",),
    ]


async def test_stores_forbidden_on_several_routes_count_against_no_route(book: Book, forbid: Forbid) -> None:
    routes = [book.add(protocol="http", host=f"10.0.0.{number}", port=1) for number in range(3)]

    for store in "abcde":
        for route in routes:
            assert not (await forbid(route, store)).is_blamed

    assert [book.route(route)["paused_until"] for route in routes] == [None] * 3


async def test_forbidden_visits_older_than_an_hour_are_not_evidence(book: Book, forbid: Forbid) -> None:
    route = book.add()
    await forbid(route, "a", "b")
    book.connection.execute("update storecrawl.forbidden_visits set last_at = now() - interval '61 min'")

    assert not (await forbid(route, "c")).is_blamed
    assert not (await forbid(route, "d")).is_blamed
    assert (await forbid(route, "e")).is_blamed


async def test_store_forbidden_on_a_disabled_route_counts_against_the_other(book: Book, forbid: Forbid) -> None:
    gone, route = (book.add(protocol="http", host=f"10.0.0.{number}", port=1) for number in range(2))
    await forbid(gone, "a", "b", "c")
    book.connection.execute(
        "update storecrawl.routes set active = false, disabled_at = now(), disabled_because = 'x', paused_until = null,"
        " paused_because = null where id = %s",
        (gone,),
    )

    assert (await forbid(route, "a", "b", "c")).is_blamed


async def test_consecutive_pauses_double_except_for_the_last_route(
    book: Book, forbid: Forbid, recorder: Recorder
) -> None:
    """A wrong verdict about the last route costs a minute at a time."""
    route, other = (book.add(protocol="http", host=f"10.0.0.{number}", port=1) for number in range(2))

    async def paused_for(verdict: Verdict) -> int:
        assert verdict.is_blamed
        book.connection.execute("update storecrawl.routes set paused_until = now() where id = %s", (route,))
        probe = await recorder.probe(route, 60.0)
        assert probe is not None
        assert probe.granted
        return round(verdict.paused_for or 0)

    first = await paused_for(await forbid(route, "a", "b", "c"))
    lengths = [await paused_for(await forbid(route, store)) for store in "defg"]
    book.connection.execute(
        "update storecrawl.routes set active = false, disabled_at = now(), disabled_because = 'x' where id = %s",
        (other,),
    )
    alone = await paused_for(await forbid(route, "h"))

    assert ([first, *lengths], alone) == ([60, 120, 240, 300, 300], 60)


async def test_responses_in_flight_during_a_pause_do_not_extend_it(book: Book, forbid: Forbid) -> None:
    route = book.add()
    await forbid(route, "a", "b", "c")

    late = await forbid(route, "d", "e")

    assert (late.is_blamed, book.route(route)["pauses"]) == (False, 1)


async def test_only_one_worker_tries_a_paused_route(book: Book, forbid: Forbid, database: str) -> None:
    route = book.add()
    await forbid(route, "a", "b", "c")
    book.connection.execute("update storecrawl.routes set paused_until = now()")
    recorders = [Recorder(database) for _ in range(4)]

    probes = [probe for probe in await asyncio.gather(*(each.probe(route, 60.0) for each in recorders)) if probe]
    await asyncio.gather(*(each.close() for each in recorders))

    assert sorted(probe.granted for probe in probes) == [False, False, False, True]
    assert all(0 < (probe.paused_for or 0) <= 60 for probe in probes if not probe.granted)


async def test_forbidden_visits_on_a_blamed_route_do_not_block_new_stores(book: Book, forbid: Forbid) -> None:
    route = book.add()
    enter = "insert into storecrawl.stores (platform, platform_store_id, name) values ('dutchie', %s, 'x') returning id"
    block = "insert into storecrawl.blocked_stores (store_id, blocked_until, because, times) values (%s, now(), 'HTTP 403', %s)"
    for store, times in (("a", 1), ("b", 2), ("other", 1)):
        book.connection.execute(block, (*_first(book.connection.execute(enter, (store,))), times))

    await forbid(route, "a", "b", "c")

    left = "select platform_store_id from storecrawl.blocked_stores join storecrawl.stores on stores.id = store_id order by 1"
    assert book.connection.execute(left).fetchall() == [("b",), ("other",)]


async def test_unreported_counts_are_added_to_later_ones() -> None:
    counters = Counters()
    counters.count_forbidden(1, "a", "store a", "HTTP 403")
    [taken] = counters.take()
    counters.count_forbidden(1, "b", "store b", "HTTP 403")

    counters.put_back([taken])

    [counter] = counters.take()
    assert (counter.failures, counter.forbidden_with, counter.recovered) == (2, ["a", "b"], False)
    assert counter.forbidden_about == ["store a", "store b"]


async def test_visit_without_a_store_is_not_evidence() -> None:
    """Whether a host has an image is no evidence about the upstream."""
    counters = Counters()
    counters.count_forbidden(1, "a", "store a", "HTTP 403")
    counters.count_success(1, recovered=False)

    [counter] = counters.take()

    assert (counter.successes, counter.recovered, counter.forbidden_about) == (1, False, ["store a"])


async def test_enabled_route_starts_with_a_clean_record(aconnection: Any, forbid: Forbid) -> None:
    route = await add_route(aconnection, NewRoute(protocol=RouteProtocol.DIRECT))
    assert (await forbid(route.id, "a", "b", "c")).is_blamed

    enabled = await enable_route(aconnection, route.id)

    assert (enabled.status, enabled.paused_until, enabled.forbidden_with, enabled.failures) == ("active", None, [], 3)
    assert not (await forbid(route.id, "d")).is_blamed


def _first(cursor: Any) -> Any:
    return cursor.fetchone()
