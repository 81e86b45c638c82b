"""Findings of the crawler in Rolecall's doctor and on the overview."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import psycopg
import pytest

from apps.storecrawl.tests.conftest import Shop

PAUSE = "update storecrawl.routes set paused_until = '2026-05-01 10:00 UTC', paused_because = 'x' where id = %s"
DISABLE = "update storecrawl.routes set active = false, disabled_at = now(), disabled_because = 'x'"


async def findings_of(http: httpx2.AsyncClient, check: str) -> list[tuple[str, str, str]]:
    answer = (await http.get("/api/doctor")).json()
    assert {"storecrawl.routes", "storecrawl.blocked_stores"} <= set(answer["checks"])
    return [
        (each["severity"], each["problem"], each["path"])
        for each in answer["findings"]
        if each["check"] == f"storecrawl.{check}"
    ]


async def test_doctor_finds_nothing_with_a_route_and_no_blocked_store(http: httpx2.AsyncClient, shop: Shop) -> None:
    shop.route(), shop.store()

    assert await findings_of(http, "routes") == await findings_of(http, "blocked_stores") == []


@pytest.mark.parametrize(("number", "which"), [(0, "there are none"), (2, "all 2 are disabled")])
async def test_missing_active_route_is_trouble(
    http: httpx2.AsyncClient, shop: Shop, connection: psycopg.Connection[Any], number: int, which: str
) -> None:
    for port in range(1, number + 1):
        shop.route(port=port)
    connection.execute(DISABLE)

    [(severity, problem, path)] = await findings_of(http, "routes")

    assert (severity, path) == ("trouble", "/routes")
    assert problem == f"no outgoing route is active ({which}): nothing can be fetched"


@pytest.mark.parametrize(("paused", "severity"), [(1, "warning"), (2, "trouble")])
async def test_paused_routes_are_a_warning_and_trouble_if_all_are_paused(
    http: httpx2.AsyncClient, shop: Shop, connection: psycopg.Connection[Any], paused: int, severity: str
) -> None:
    routes = [shop.route(port=port) for port in (1, 2)]
    for route in routes[:paused]:
        connection.execute(PAUSE, (route,))

    [(found_severity, problem, _)] = await findings_of(http, "routes")

    assert (found_severity, "http://127.0.0.1:1 until 2026-05-01 10:00 UTC" in problem) == (severity, True)


@pytest.mark.parametrize(("blocked", "severity"), [(1, "warning"), (2, "trouble")])
async def test_blocked_stores_are_a_warning_and_trouble_from_half_of_all(
    http: httpx2.AsyncClient, shop: Shop, blocked: int, severity: str
) -> None:
    stores = shop.stores(4)
    for store in stores[:blocked]:
        shop.block(store, "HTTP 403")

    [(found_severity, problem, path)] = await findings_of(http, "blocked_stores")
    listed = [each["id"] for each in (await http.get("/api/stores?blocked=true")).json()["items"]]

    assert (found_severity, path) == (severity, "/stores?blocked=yes")
    assert problem.startswith(f"{blocked} of 4 stores are blocked, the first since ")
    assert listed == stores[:blocked]


@pytest.mark.parametrize(
    ("check", "trouble", "problem"),
    [
        ("dark_stores", {"dark_since": "2026-05-01 10:00 UTC"}, "1 of 3 stores are dark, the first since 2026-05-01"),
        ("lost_ids", {"same_id_finds": 3}, "1 of 3 stores need investigation: the platform has no menu for their id"),
    ],
)
async def test_stores_in_trouble_are_counted_and_named(
    http: httpx2.AsyncClient, shop: Shop, check: str, trouble: dict[str, object], problem: str
) -> None:
    shop.stores(2), shop.store(name="Old", crawl_enabled=False, **trouble)
    store = shop.store(name="Sun", **trouble)

    [(severity, found, _)] = await findings_of(http, check)

    assert (severity, found.startswith(problem), found.endswith(f"(Sun ({store}))")) == ("warning", True, True)


async def test_stock_that_still_counts_after_too_many_rounds_is_a_warning(http: httpx2.AsyncClient, shop: Shop) -> None:
    store = shop.store(crawl_enabled=False)
    shop.payload(store, {}, applied_at="2026-05-01", applied_count=1, complete=True)

    [(severity, problem, _)] = await findings_of(http, "dark_stores")

    assert severity == "warning"
    assert (
        problem == f"the stock of 1 stores still counts, though they had no menu for more than 12 rounds (ids: {store})"
    )


async def test_fetch_in_the_future_is_a_warning(http: httpx2.AsyncClient, shop: Shop) -> None:
    store = shop.store()
    shop.payload(store, {}, hour=24 * 365 * 100)

    [(severity, problem, path)] = await findings_of(http, "future_fetches")

    assert (severity, path) == ("warning", "/payloads")
    assert problem.startswith(
        f"1 payloads of 1 stores have a fetch time in the future, the latest one of store {store}"
    )


async def test_store_shows_since_when_it_is_blocked_and_its_next_visit(http: httpx2.AsyncClient, shop: Shop) -> None:
    blocked, other = shop.stores(2)
    shop.block(blocked, "HTTP 403")

    stores = [(await http.get(f"/api/stores/{store}")).json() for store in (blocked, other)]

    assert [each["blocked_because"] for each in stores] == ["HTTP 403", None]
    assert [each["blocked_at"] is None for each in stores] == [False, True]
    assert [each["blocked_until"] is None for each in stores] == [False, True]


async def test_overview_reports_that_no_route_is_active(http: httpx2.AsyncClient, shop: Shop) -> None:
    shop.store()

    async with asyncio.timeout(40):
        while "No outgoing route is active (there are none)" not in (page := await http.get("/")).text:
            await asyncio.sleep(0.05)

    assert 'href="/routes"' in page.text
