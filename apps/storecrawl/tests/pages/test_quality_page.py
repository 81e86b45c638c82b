"""The page and the API of the crawl's quality."""

from __future__ import annotations

from typing import Any

import httpx2

HELD = {"held_fields": ["potency"], "held_because": "potency is known of 0 of 40 (81% before)"}


def checks_of(report: Any) -> list[str]:
    """Return the checks with a problem. The menus of these tests are so old that their store should be dark."""
    return [finding["check"] for finding in report["findings"]]


async def test_held_menu_is_a_problem_with_its_reason_and_payload(
    http: httpx2.AsyncClient, shop: Any, apply: Any
) -> None:
    shop.route()
    store = shop.store(last_fetch_at="now")
    await apply(store, 0, a={"brandName": "A brand"}, b={})
    held = shop.payload(store, {}, hour=1, **HELD)

    page = (await http.get("/quality")).text
    report = (await http.get("/api/quality")).json()

    fields = {each["field"]: each for each in report["fields"]}
    assert "held_menus" in checks_of(report)
    assert (fields["brand"]["share"], fields["brand"]["held"]) == (0.5, None)
    assert (fields["potency"]["held"]["stores"], fields["potency"]["held"]["payload_id"]) == (1, held)
    for text in ("Menus of 1 of 1 stores have lost their potency", "50 %", f'href="/payloads/{held}"'):
        assert text in page
    assert "This payload is held" in (await http.get(f"/payloads/{held}")).text


async def test_later_applied_menu_ends_the_problem(http: httpx2.AsyncClient, shop: Any, apply: Any) -> None:
    shop.route()
    store = shop.store(last_fetch_at="now")
    shop.payload(store, {}, hour=1, **HELD)
    await apply(store, 2, a={})

    assert "held_menus" not in checks_of((await http.get("/api/quality")).json())


async def test_store_without_a_menu_for_two_rounds_is_stale(http: httpx2.AsyncClient, shop: Any) -> None:
    shop.route()
    shop.store(last_fetch_at="now"), shop.store(last_fetch_at="2026-05-01")

    report = (await http.get("/api/quality")).json()

    assert [each["check"] for each in report["findings"]] == ["stale_stores"]
    assert (report["stores"]["stale"], report["stores"]["stores"]) == (1, 2)
