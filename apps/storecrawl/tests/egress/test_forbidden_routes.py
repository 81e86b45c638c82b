"""Forbidden routes: the retry, the pause, the other routes, and the return."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from storecrawl.demo.upstream import FaultDial, FaultKind, LocalUpstream
from storecrawl.demo.upstream.world import World
from storecrawl.egress import EgressOptions, NoUsableRoute, Recorder, RouteBlamed
from storecrawl.egress.counters import Counters
from storecrawl.platforms.errors import Blocked, UpstreamFailure

from .conftest import QUICK, Book

ONLY_ONCE = replace(QUICK, retries=0)
OPTIONS = EgressOptions(forbidden_limit=3, pause=60.0, longest_pause=300.0)
Forbid = Callable[..., Any]


async def test_forbidden_request_is_retried_over_another_route_with_another_profile(
    upstream: LocalUpstream, book: Book, proxy: Any, make_client: Any
) -> None:
    wall, door = await proxy(forbids=True), await proxy()
    book.add(wall), book.add(door)

    stores = await (await make_client(upstream.url)).stores()

    assert len(stores) == upstream.options.stores
    assert (len(wall.heads), bool(door.heads)) == (1, True)


async def test_single_forbidden_store_leaves_the_only_route_in_use(
    upstream: LocalUpstream, book: Book, make_client: Any, eventually: Any
) -> None:
    """Each request uses another profile, but all of them are about one store."""
    route, client = book.add(), await make_client(upstream.url)
    walled, *others = [store["id"] for store in World(upstream.options).stores({})]
    upstream.wall_off(walled)

    for _ in range(3):
        with pytest.raises(Blocked):
            await client.menu(walled)
    for store in others:
        await client.menu(store)

    await eventually(lambda: book.route(route)["failures"] == 3 * (1 + QUICK.retries))
    assert (book.route(route)["active"], book.route(route)["paused_until"]) == (True, None)


@pytest.mark.parametrize("protocol", ["http", "socks5"])
async def test_route_with_several_forbidden_stores_is_paused_and_others_continue(
    upstream: LocalUpstream, book: Book, proxy: Any, make_client: Any, eventually: Any, protocol: str
) -> None:
    wall, door = await proxy(protocol=protocol, forbids=True), await proxy()
    route, other = book.add(wall), book.add(door)
    client = await make_client(upstream.url, replace(QUICK, retries=1))

    for store in World(upstream.options).stores({}):
        await client.menu(store["id"])

    await eventually(lambda: book.route(route)["paused_until"])
    row = book.route(route)
    assert (row["active"], row["pauses"]) == (True, 1)
    assert row["paused_because"] == "3 different stores in a row were answered 403 on it, and on no other route"
    assert (book.route(other)["paused_until"], row["last_error"]) == (None, "blocked by the upstream (HTTP 403)")


async def test_paused_route_resumes_automatically(
    upstream: LocalUpstream, book: Book, proxy: Any, make_client: Any, eventually: Any
) -> None:
    wall, door = await proxy(forbids=True), await proxy()
    route = book.add(wall)
    book.add(door)
    client = await make_client(upstream.url, pause=0.2)
    ids = [store["id"] for store in World(upstream.options).stores({})]
    for store in ids:
        await client.menu(store)
    await eventually(lambda: book.route(route)["paused_until"])

    wall.forbids = False

    async def is_back() -> bool:
        await client.menu(ids[0])
        row = book.route(route)
        return row["paused_until"] is None and row["successes"] > 0 and row["pauses"] == 0

    await eventually(is_back)


async def test_requests_are_held_back_while_the_last_route_is_paused(
    upstream: LocalUpstream, book: Book, make_client: Any
) -> None:
    route, client = book.add(), await make_client(upstream.url, ONLY_ONCE, pause=45.0)
    upstream.set_failures(FaultDial(failure_rate=1.0, weights={FaultKind.BLOCKED: 1.0}))

    errors = [await _raised_by(client.menu(store["id"])) for store in World(upstream.options).stores({})]

    assert [type(error) for error in errors] == [Blocked, Blocked, RouteBlamed, NoUsableRoute]
    assert isinstance(errors[-1], NoUsableRoute)
    assert 40 < errors[-1].seconds <= 45
    assert book.route(route)["active"]


async def test_forbidden_limit_of_zero_disables_blaming(
    upstream: LocalUpstream, book: Book, make_client: Any, eventually: Any
) -> None:
    route, client = book.add(), await make_client(upstream.url, ONLY_ONCE, forbidden_limit=0)
    upstream.set_failures(FaultDial(failure_rate=1.0, weights={FaultKind.BLOCKED: 1.0}))

    errors = [await _raised_by(client.menu(store["id"])) for store in World(upstream.options).stores({})]

    assert [type(error) for error in errors] == [Blocked] * 4
    await eventually(lambda: len(book.route(route)["forbidden_with"]) == 4)
    assert book.route(route)["paused_until"] is None


async def test_host_that_forbids_every_visit_is_not_contacted_for_a_while(
    upstream: LocalUpstream, book: Book, make_client: Any
) -> None:
    """If everything is forbidden on every route, none is to blame, but the host is paused."""
    book.add()
    client = await make_client(upstream.url, ONLY_ONCE, forbidden_limit=0, breaker_failures=3)
    upstream.set_failures(FaultDial(failure_rate=1.0, weights={FaultKind.BLOCKED: 1.0}))

    errors = [await _raised_by(client.menu(store["id"])) for store in World(upstream.options).stores({})]

    assert [type(error).__name__ for error in errors] == ["Blocked", "Blocked", "Blocked", "CircuitOpen"]


async def test_route_disabled_by_one_worker_is_no_longer_used_by_others(
    upstream: LocalUpstream, book: Book, proxy: Any, make_client: Any, eventually: Any
) -> None:
    wall, door = await proxy(), await proxy()
    walled = book.add(wall)
    book.add(door)
    client = await make_client(upstream.url)
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


async def test_concurrent_reports_on_the_same_routes_lose_no_count(database: str, book: Book) -> None:
    routes = [book.add(protocol="http", host=f"10.0.0.{number}", port=1) for number in range(5)]

    await asyncio.gather(*(_reports(database, routes[::step]) for step in (1, -1, 1, -1)))

    assert {book.route(route)["successes"] for route in routes} == {4 * 20}


async def _raised_by(request: Any) -> Exception:
    with pytest.raises((UpstreamFailure, RouteBlamed, NoUsableRoute, Exception)) as raised:
        await request
    return raised.value


async def _reports(database: str, routes: list[int]) -> None:
    recorder, counters = Recorder(database), Counters()
    for _ in range(20):
        for route in routes:
            counters.count_success(route, recovered=True)
        await recorder.report(counters.take(), OPTIONS)
    await recorder.close()
