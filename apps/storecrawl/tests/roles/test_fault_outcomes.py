"""Effects of each upstream fault on the pipeline; the catalog never gets worse."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from storecrawl.app import UPSTREAM_ATTEMPTS
from storecrawl.demo.upstream import FaultDial, FaultKind, LocalUpstream, UpstreamOptions
from storecrawl.platforms.dutchie import UpstreamClient

from rolecall import NewTask
from rolecall.testing import working

PRODUCTS = 60
# A route is disabled when its 403s are stored: attempts may have failed before that, but not all of them.
LAST_TASK = """
select handler, state::text, attempt, coalesce(info ->> 'held_back', error, ''), scheduled_for > now() + interval '100 s'
from rolecall.all_tasks where key = 'store:1' order by id desc limit 1
"""
CATALOG = """
select count(*), count(*) filter (where in_stock), max(payload_id)
from storecrawl.products as product join storecrawl.product_sightings on product_id = product.id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The state of the store's last task under a permanent fault, and its error; `later` if it waits for long."""

    handler: str = "payload_fetch"
    state: str = "failed"
    attempts: int | None = UPSTREAM_ATTEMPTS
    says: str = ""
    later: bool = False


OUTCOMES = {
    FaultKind.BLOCKED: Outcome(state="pending", attempts=0, says="the store is blocked: .* 403", later=True),
    FaultKind.RATE_LIMITED: Outcome(state="pending", attempts=1, says="requested to wait 120 s", later=True),
    FaultKind.UNAVAILABLE: Outcome(says="HTTP 50[234]"),
    FaultKind.CUT: Outcome(says="Unavailable"),
    FaultKind.ERRORS: Outcome(says="error of the upstream: "),
    FaultKind.SCHEMA_DRIFT: Outcome(says="FilteredProducts: "),
    FaultKind.FOREIGN_REDIRECT: Outcome(says="redirected to another host"),
    # The fetch is refused if the upstream still counts the missing products; without a count, the refresh is.
    FaultKind.EMPTY_PAGE: Outcome(handler="product_refresh", attempts=1, says="ImplausibleMenu: 0 products"),
    FaultKind.TRUNCATED: Outcome(handler="product_refresh", attempts=1, says="ImplausibleMenu"),
    FaultKind.SLOW: Outcome(handler="product_refresh", state="completed", attempts=1),
    FaultKind.ROTATED: Outcome(handler="product_refresh", state="completed", attempts=1),
}
FETCH = NewTask(handler="payload_fetch", payload={"store_id": 1}, key="store:1")


@pytest.fixture
async def upstream() -> AsyncIterator[LocalUpstream]:
    options = UpstreamOptions(stores=1, menu_smallest=PRODUCTS, menu_median=PRODUCTS, menu_largest=PRODUCTS)
    async with LocalUpstream(options) as running:
        yield running


@pytest.fixture
async def faulty_crawl(crawl_with: Callable[..., Any], upstream: LocalUpstream) -> Any:
    """The crawl with the store's first menu in its catalog; its host is never paused."""
    crawl = crawl_with(retry_first=0.01, backoff=0.001, breaker_failures=1000)
    async with UpstreamClient(upstream.url) as client:
        [store] = await client.stores()
    await crawl.run(NewTask(handler="entry_point_discovery", payload={"entry": store.slug}))
    assert crawl.value("select count(*) from storecrawl.products") > PRODUCTS / 2
    return crawl


def test_every_kind_of_fault_has_an_outcome() -> None:
    assert set(OUTCOMES) == set(FaultKind)


@pytest.mark.parametrize("kind", OUTCOMES)
async def test_permanent_fault_has_its_outcome_and_leaves_the_catalog_intact(
    faulty_crawl: Any, upstream: LocalUpstream, kind: FaultKind
) -> None:
    upstream.set_failures(_always(kind))
    before = faulty_crawl.rows(CATALOG)

    expected = OUTCOMES[kind]

    await faulty_crawl.run(FETCH)

    [(handler, state, attempts, error_text, is_later)] = faulty_crawl.rows(LAST_TASK)
    assert (handler, state) == (expected.handler, expected.state), error_text
    assert expected.attempts in {None, attempts}
    assert re.search(expected.says, error_text)
    assert is_later == expected.later
    assert (faulty_crawl.rows(CATALOG) == before) == (state != "completed")


async def test_temporary_fault_costs_only_attempts(faulty_crawl: Any, upstream: LocalUpstream) -> None:
    upstream.set_failures(_always(FaultKind.UNAVAILABLE))
    [fetch] = faulty_crawl.enqueue(FETCH)
    async with working(faulty_crawl.app, faulty_crawl.database):
        await faulty_crawl.until(
            lambda: faulty_crawl.value("select attempt from rolecall.all_tasks where id = %s", fetch) > 1
        )
        upstream.set_failures(FaultDial())
    await faulty_crawl.run()

    assert faulty_crawl.states() == {"completed"}
    assert faulty_crawl.value("select count(*) from storecrawl.payloads where applied_at is not null") == 2


def _always(kind: FaultKind) -> FaultDial:
    return FaultDial(failure_rate=1.0, weights={kind: 1.0}, slow_seconds=0.01, retry_after_seconds=120)
