"""A feed that was cut removes nothing from the catalog, and the reason is reported."""

from __future__ import annotations

from typing import Any

import pytest
from storecrawl.demo.upstream import FaultDial, FaultKind, LocalUpstream

from rolecall import NewTask

MISSED = "select count(*) from storecrawl.products where consecutive_misses > 0"


@pytest.fixture
def store(crawled: Any) -> int:
    return int(crawled.value("select store_id from storecrawl.payloads order by product_count desc, store_id limit 1"))


def always(kind: FaultKind) -> FaultDial:
    return FaultDial(failure_rate=1.0, weights={kind: 1.0})


async def test_cut_feed_with_a_matching_count_is_stored_but_not_applied(
    crawled: Any, upstream: LocalUpstream, store: int
) -> None:
    upstream.set_failures(always(FaultKind.TRUNCATED))

    await crawled.run(NewTask(handler="payload_fetch", payload={"store_id": store}))

    [(state, error)] = crawled.rows(
        "select state::text, error from rolecall.all_tasks where handler = 'product_refresh' order by id desc limit 1"
    )
    assert state == "failed"
    assert "the store's last menu had" in error
    assert crawled.value(MISSED) == 0
    assert crawled.value("select count(*) from storecrawl.payloads where applied_at is null") == 1


async def test_upstream_with_constantly_rotating_hashes_is_crawled(
    crawled: Any, upstream: LocalUpstream, store: int
) -> None:
    upstream.set_failures(always(FaultKind.ROTATED))

    await crawled.run(NewTask(handler="payload_fetch", payload={"store_id": store}))

    assert crawled.value("select count(*) from storecrawl.payloads where applied_at is not null") == 6
    assert upstream.stats()["faults"]["rotated"] > 0


async def test_renamed_store_is_found_by_its_old_menu_address(crawled: Any, upstream: LocalUpstream) -> None:
    known, slug = crawled.rows("select platform_store_id, slug from storecrawl.stores order by id limit 1")[0]

    entry = f"https://menus.example/dispensary/old-{slug}"
    await crawled.run(NewTask(handler="entry_point_discovery", payload={"entry": entry}))

    result = crawled.value("select result from rolecall.all_tasks where handler = 'entry_point_discovery'")
    assert result["platformStoreId"] == known
    assert result["way"] in {"redirect", "canonical", "page_data"}
    assert upstream.stats()["operations"]["web page"] > 0
