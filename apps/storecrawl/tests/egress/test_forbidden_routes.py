"""Routes that are answered 403: left for others, and disabled when three profiles in a row were (covers SPEC B14-3)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from storecrawl.demo.upstream import FaultDial, FaultKind, LocalUpstream
from storecrawl.egress import Ledger, RouteProtocol
from storecrawl.egress.book import NewRoute, add_route, enable_route
from storecrawl.egress.tallies import Tallies
from storecrawl.upstream import Blocked

from .conftest import QUICK, Book

ONLY_ONCE = replace(QUICK, retries=0)


async def test_a_forbidden_request_is_sent_again_over_another_route_with_another_profile(
    upstream: LocalUpstream, book: Book, proxy: Any, leaving: Any
) -> None:
    """covers SPEC B14-3, E5-15"""
    wall, door = await proxy(forbids=True), await proxy()
    book.add(wall), book.add(door)

    stores = await (await leaving(upstream.url)).stores()

    assert len(stores) == upstream.options.stores
    assert (len(wall.heads), bool(door.heads)) == (1, True)


@pytest.mark.parametrize("protocol", ["http", "socks5"])
async def test_three_profiles_in_a_row_that_are_forbidden_disable_a_route(
    upstream: LocalUpstream, book: Book, proxy: Any, leaving: Any, eventually: Any, protocol: str
) -> None:
    """covers SPEC B14-3"""
    wall = await proxy(protocol=protocol, forbids=True)
    route, client = book.add(wall), await leaving(upstream.url, ONLY_ONCE)

    for _ in range(3):
        with pytest.raises(Blocked):
            await client.stores()

    await eventually(lambda: not book.route(route)["active"])
    row = book.route(route)
    assert len({head.lower().split("user-agent: ")[1].split("\r\n")[0] for head in wall.heads}) == 3
    assert (
        row["disabled_because"]
        == f"3 answers 403 in a row, each to another profile: {', '.join(row['forbidden_with'])}"
    )
    assert (row["failures"], row["successes"], row["last_error"]) == (3, 0, "blocked by the upstream (HTTP 403)")


async def test_a_success_between_forgives_what_was_forbidden(
    upstream: LocalUpstream, book: Book, leaving: Any, eventually: Any
) -> None:
    """covers SPEC B14-3"""
    route, client = book.add(), await leaving(upstream.url, ONLY_ONCE)

    for _ in range(2):
        await _forbidden_twice(upstream, client)
        await eventually(lambda: len(book.route(route)["forbidden_with"]) == 2)
        upstream.set_failures(FaultDial())
        await client.stores()
        await eventually(lambda: book.route(route)["forbidden_with"] == [])

    assert (book.route(route)["active"], book.route(route)["failures"]) == (True, 4)


async def test_a_limit_of_none_never_disables(
    upstream: LocalUpstream, book: Book, leaving: Any, eventually: Any
) -> None:
    route, client = book.add(), await leaving(upstream.url, ONLY_ONCE, forbidden_limit=0)

    await _forbidden_twice(upstream, client)
    await _forbidden_twice(upstream, client)

    await eventually(lambda: len(book.route(route)["forbidden_with"]) == 4)
    assert book.route(route)["active"]


async def test_a_route_that_one_worker_disables_is_left_by_the_others(
    upstream: LocalUpstream, book: Book, proxy: Any, leaving: Any, eventually: Any
) -> None:
    wall, door = await proxy(), await proxy()
    walled = book.add(wall)
    book.add(door)
    client = await leaving(upstream.url)
    book.connection.execute(
        "update storecrawl.routes set active = false, disabled_at = now(), disabled_because = 'x' where id = %s",
        (walled,),
    )

    async def is_left() -> bool:
        before = len(wall.heads)
        await client.stores()
        await client.stores()
        return len(wall.heads) == before

    await eventually(is_left)


async def test_several_workers_report_on_the_same_routes_without_losing_a_count(database: str, book: Book) -> None:
    """covers SPEC B14-3"""
    routes = [book.add(protocol="http", host=f"10.0.0.{number}", port=1) for number in range(5)]

    await asyncio.gather(*(_reports(database, routes[::step]) for step in (1, -1, 1, -1)))

    assert {book.route(route)["successes"] for route in routes} == {4 * 20}


async def test_what_could_not_be_reported_is_counted_with_what_comes_later() -> None:
    tallies = Tallies()
    tallies.forbidden(1, "a", "HTTP 403")
    [taken] = tallies.take()
    tallies.forbidden(1, "b", "HTTP 403")

    tallies.put_back([taken])

    [tally] = tallies.take()
    assert (tally.failures, tally.forbidden_with, tally.recovered) == (2, ["a", "b"], False)


async def test_an_enabled_route_begins_anew(aconnection: Any, database: str, book: Book) -> None:
    route = await add_route(aconnection, NewRoute(protocol=RouteProtocol.DIRECT))
    tallies, ledger = Tallies(), Ledger(database)
    for profile in "abc":
        tallies.forbidden(route.id, profile, "HTTP 403")
    assert await ledger.report(tallies.take(), forbidden_limit=3) == {route.id: False}
    await ledger.close()

    enabled = await enable_route(aconnection, route.id)

    assert (enabled.active, enabled.disabled_because, enabled.forbidden_with, enabled.failures) == (True, None, [], 3)


async def _forbidden_twice(upstream: LocalUpstream, client: Any) -> None:
    upstream.set_failures(FaultDial(failure_rate=1.0, weights={FaultKind.BLOCKED: 1.0}))
    for _ in range(2):
        with pytest.raises(Blocked):
            await client.stores()


async def _reports(database: str, routes: list[int]) -> None:
    ledger, tallies = Ledger(database), Tallies()
    for _ in range(20):
        for route in routes:
            tallies.succeeded(route)
        await ledger.report(tallies.take(), forbidden_limit=3)
    await ledger.close()
