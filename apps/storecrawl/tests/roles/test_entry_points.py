"""Ids and entry points that lead nowhere: repaired if the platform has another id, otherwise left to a person."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from storecrawl.demo.upstream import FaultDial, FaultKind, LocalUpstream

from rolecall import NewTask

DISCOVER = NewTask(handler="store_discovery")
DEAD = "f" * 24
LOCATION = "select status::text, because, store_id from storecrawl.locations where platform_store_id = %s"
RESULT = "select result from rolecall.all_tasks where handler = 'entry_point_discovery' order by id desc limit 1"


def _entry(entry: str) -> NewTask:
    return NewTask(handler="entry_point_discovery", payload={"entry": entry})


def _rename(crawl: Any, store: int, *, slug: str | None = None) -> str:
    """Give a store an id that the platform does not know; return its real one."""
    real: str = crawl.value("select platform_store_id from storecrawl.stores where id = %s", store)
    crawl.rows("update storecrawl.locations set platform_store_id = %s where store_id = %s returning 1", DEAD, store)
    crawl.rows(
        "update storecrawl.stores set platform_store_id = %s, slug = coalesce(%s, slug) where id = %s returning 1",
        DEAD, slug, store,
    )  # fmt: skip
    if slug:
        crawl.rows("update storecrawl.locations set slug = %s where store_id = %s returning 1", slug, store)
    return real


async def test_store_with_a_changed_id_is_crawled_under_its_new_one(crawled: Any) -> None:
    """A fetch of an id that the upstream does not know leads to its investigation."""
    real = _rename(crawled, 1)

    await crawled.run(NewTask(handler="payload_fetch", payload={"store_id": 1}))

    assert crawled.value("select platform_store_id from storecrawl.stores where id = 1") == real
    assert crawled.value("select count(*) from storecrawl.payloads where store_id = 1 and applied_at is not null") == 2
    assert [row[0] for row in crawled.rows(LOCATION, DEAD) + crawled.rows(LOCATION, real)] == ["linked", "linked"]
    assert crawled.value("select count(*) from storecrawl.stores") == 5


async def test_store_removed_from_the_platform_needs_investigation(crawled: Any) -> None:
    _rename(crawled, 1, slug="nowhere-at-all")

    await crawled.run(NewTask(handler="payload_fetch", payload={"store_id": 1}))

    [(status, because, store)] = crawled.rows(LOCATION, DEAD)
    assert (status, store) == ("needs_investigation", 1)
    assert "nowhere-at-all" in because
    assert crawled.value("select crawl_enabled from storecrawl.stores where id = 1") is True
    assert crawled.value("select count(*) from storecrawl.payloads where store_id = 1") == 1


async def test_investigation_is_resolved_when_discovery_sees_the_location_again(crawled: Any) -> None:
    known = crawled.value("select platform_store_id from storecrawl.stores where id = 1")
    crawled.rows(
        "update storecrawl.locations set status = 'needs_investigation', because = 'x' where store_id = 1 returning 1"
    )

    await crawled.run(DISCOVER)

    assert crawled.rows(LOCATION, known) == [("verified", "the platform lists it again", 1)]


async def test_known_id_is_found_without_an_upstream_request(crawled: Any, upstream: LocalUpstream) -> None:
    """The locations found by discovery are searched first."""
    slug = crawled.value("select slug from storecrawl.stores where id = 1")
    requests_before = upstream.stats()["requests"]

    await crawled.run(_entry(f"https://menus.example/dispensary/{slug}"))

    assert crawled.value(RESULT)["way"] == "location"
    assert upstream.stats()["requests"] == requests_before


async def test_store_without_an_entry_is_resolved_by_its_own_record(crawled: Any) -> None:
    real = _rename(crawled, 1)

    await crawled.run(NewTask(handler="entry_point_discovery", payload={"store_id": 1}))

    assert crawled.value("select platform_store_id from storecrawl.stores where id = 1") == real


async def test_third_search_in_a_row_that_finds_the_same_id_leads_to_an_investigation(crawled: Any) -> None:
    known = crawled.value("update storecrawl.stores set same_id_finds = 1 where id = 1 returning platform_store_id")
    search = NewTask(handler="entry_point_discovery", payload={"store_id": 1})

    await crawled.run(search)
    second = crawled.rows(LOCATION, known)[0][0]
    await crawled.run(search)

    [(third, because, store)] = crawled.rows(LOCATION, known)
    assert (second, third, store) == ("verified", "needs_investigation", 1)
    assert because == f"the platform has no menu for {known}, and 3 searches in a row found the same id"


async def test_store_that_needs_investigation_for_its_id_is_not_searched_again(crawled: Any) -> None:
    _rename(crawled, 1)
    crawled.rows("update storecrawl.stores set same_id_finds = 3 where id = 1 returning 1")

    await crawled.run(NewTask(handler="payload_fetch", payload={"store_id": 1}))

    result = crawled.value("select result from rolecall.all_tasks where handler = 'payload_fetch'")
    assert result == {"unknownId": DEAD, "needsInvestigation": True}
    assert crawled.rows("select id from rolecall.all_tasks where handler = 'entry_point_discovery'") == []


async def test_task_without_entry_and_store_is_cancelled(crawl: Any) -> None:
    await crawl.run(NewTask(handler="entry_point_discovery"))

    assert crawl.value("select error from rolecall.all_tasks") == "'' is not a slug, an id or the address of a menu"


async def test_undiscovered_store_is_found_promoted_and_crawled(crawled: Any) -> None:
    slug = crawled.value("select slug from storecrawl.stores where id = 1")
    assert crawled.value("select count(*) from rolecall.all_tasks where handler = 'entry_point_discovery'") == 0
    crawled.empty("storecrawl.stores")

    await crawled.run(_entry(slug))

    result = crawled.value(RESULT)
    assert len(result["newStoreIds"]) == 1
    assert crawled.value("select count(distinct store_id) from storecrawl.products") == 1
    assert crawled.value("select count(*) from storecrawl.discovery_payloads where kind = 'entry'") == 1


async def test_entry_point_without_a_store_is_stored_with_its_reason(crawl: Any) -> None:
    await crawl.run(_entry("nowhere-at-all"), _entry("nowhere-at-all"))

    [(entry, status, because, by)] = crawl.rows(
        "select entry, status::text, because, decided_by from storecrawl.locations"
    )
    assert (entry, status) == ("nowhere-at-all", "needs_investigation")
    assert "nowhere-at-all" in because
    assert by.startswith("task ")


async def test_network_failure_is_retried_five_times(crawl_with: Callable[..., Any], upstream: LocalUpstream) -> None:
    crawl = crawl_with(breaker_failures=100_000, backoff=0.001)
    upstream.set_failures(FaultDial(failure_rate=1.0, weights={FaultKind.UNAVAILABLE: 1.0}))

    await crawl.run(_entry("green-door"))

    because = crawl.value("select because from storecrawl.locations where entry = 'green-door'")
    assert because.startswith("no response after 6 attempts")
