"""Workers and the routes of their requests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from storecrawl.demo.upstream import FaultDial, FaultKind, LocalUpstream
from storecrawl.egress import NoActiveRoute
from storecrawl.roles.crawler import FETCHING_ROLES
from storecrawl.settings import CrawlSettings

from apps.storecrawl.tests.egress.forward_proxy import ForwardProxy
from rolecall import NewTask, Worker, WorkerOptions
from rolecall.testing import working

DISABLE_ALL = "update storecrawl.routes set active = false, disabled_at = now(), disabled_because = 'by hand'"
ADD_PROXY = (
    "insert into storecrawl.routes (protocol, host, port, username, password)"
    " values ('http', '127.0.0.1', %s, 'me', 'CANARY-77') returning id"
)


@pytest.mark.parametrize("role", FETCHING_ROLES)
async def test_fetching_worker_does_not_start_without_a_route(crawl: Any, role: str) -> None:
    crawl.rows(DISABLE_ALL + " returning id")

    with pytest.raises(NoActiveRoute):
        await Worker(crawl.app, crawl.database, WorkerOptions(roles=("product_refresh", role))).run()


def test_command_explains_how_to_add_a_route(database: str, settings: CrawlSettings) -> None:
    command = ["worker", "--app", "storecrawl.app:app", "--database-url", database]
    ended = subprocess.run(
        [sys.executable, "-m", "rolecall", *command],
        env={**os.environ, **settings.to_environment()},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert ended.returncode == 2
    assert "no outgoing route is active" in ended.stderr
    assert "storecrawl routes add" in ended.stderr
    assert "Traceback" not in ended.stderr


async def test_worker_that_fetches_nothing_needs_no_route(crawl: Any) -> None:
    crawl.rows(DISABLE_ALL + " returning id")

    options = WorkerOptions(slots=1, roles=("product_refresh", "analytics_refresh"), maintenance=False)
    async with working(crawl.app, crawl.database, options) as worker:
        assert not worker.stopping


async def test_crawl_completes_although_some_routes_are_forbidden(crawl: Any, upstream: LocalUpstream) -> None:
    async with ForwardProxy(forbids=True) as wall, ForwardProxy(forbids=True) as other, ForwardProxy() as door:
        walled = [crawl.value(ADD_PROXY, proxy.port) for proxy in (wall, other)]
        crawl.rows(f"{DISABLE_ALL} where protocol = 'direct' returning id")
        open_ = crawl.value(ADD_PROXY, door.port)

        await crawl.run(NewTask(handler="store_discovery"))

    paused = "select id, active from storecrawl.routes where paused_until is not null"
    assert dict(crawl.rows(paused)) == dict.fromkeys(walled, True)
    assert crawl.value("select count(*) from storecrawl.payloads") == upstream.options.stores
    assert crawl.value("select count(*) from storecrawl.blocked_stores") == 0
    assert crawl.value("select successes from storecrawl.routes where id = %s", open_) > 0
    assert (
        crawl.value("select count(*) from rolecall.all_tasks where row_to_json(all_tasks)::text like '%%CANARY%%'") == 0
    )


async def test_task_held_back_spends_no_attempt(crawl_with: Callable[..., Any], upstream: LocalUpstream) -> None:
    crawl = crawl_with(breaker_failures=2, breaker_seconds=30.0)
    upstream.set_failures(FaultDial(failure_rate=1.0, weights={FaultKind.UNAVAILABLE: 1.0}))
    [task] = crawl.enqueue(NewTask(handler="entry_point_discovery", payload={"entry": "a-store"}))
    held = "select info ->> 'held_back' from rolecall.all_tasks where id = %s"

    async with working(crawl.app, crawl.database):
        await crawl.until(lambda: crawl.value(held, task))

    assert "requests in a row failed at 127.0.0.1" in crawl.value(held, task)
    assert crawl.rows("select attempt, error from rolecall.all_tasks where id = %s", task) == [(0, None)]


async def test_permanently_rejected_task_is_not_retried(crawl: Any) -> None:
    await crawl.run(NewTask(handler="entry_point_discovery", payload={"entry": "no-such-store"}))

    assert crawl.value("select max(attempt) from rolecall.all_tasks") == 1
