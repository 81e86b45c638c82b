"""Several servers count a caller's requests together with Redis, and separately while it is unavailable."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import httpx2
import pytest

from rolecall.model.operator.access import Scope
from rolecall.transport.brokers import RedisLink, connect_redis
from rolecall.web.http.shared_rates import SharedRates
from tests.brokers import Broker
from tests.web.doors import opened


@pytest.fixture
async def link(redis_server: Broker) -> AsyncIterator[RedisLink]:
    link = connect_redis(redis_server.url)
    yield link
    await link.close()


async def test_servers_share_one_rate_limit_and_continue_without_redis(database: str, redis_server: Broker) -> None:
    async with AsyncExitStack() as stack:
        doors = [
            await stack.enter_async_context(opened(database, redis=redis_server.url, requests_per_minute=4))
            for _ in range(2)
        ]
        who = await doors[0].key(Scope.READ)

        async def ask(number: int) -> httpx2.Response:
            return await doors[number % 2].client.get("/api/me", headers=who)

        together = [await ask(number) for number in range(6)]
        redis_server.kill()
        alone = [(await ask(number)).status_code for number in range(6)]

    assert [answer.status_code for answer in together] == [200] * 4 + [429] * 2
    assert 50 < int(together[-1].headers["retry-after"]) <= 60
    assert alone == [200] * 6


async def test_window_slides_and_is_separate_for_each_caller(link: RedisLink) -> None:
    rates = SharedRates(link)
    first = [await rates.hit("ada", 2, 1) for _ in range(3)]
    other = await rates.hit("bob", 2, 1)

    async with asyncio.timeout(10):
        while await rates.hit("ada", 2, 1):
            await asyncio.sleep(0.02)

    assert (first[:2], other) == ([0, 0], 0)
    assert 0 < first[2] <= 1


async def test_concurrent_requests_do_not_exceed_the_rate_limit(link: RedisLink) -> None:
    waits = await asyncio.gather(*(SharedRates(link).hit("ada", 10, 60) for _ in range(40)))

    assert sum(wait == 0 for wait in waits) == 10
    assert 0 < int(await link.call("PTTL", "rate_limit:user:ada:60")) <= 60_000
