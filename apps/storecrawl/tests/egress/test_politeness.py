"""The rate of requests to a host, and its pauses."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import pytest
from storecrawl.demo.upstream import FaultDial, FaultKind, LocalUpstream
from storecrawl.egress import CircuitOpen, Egress, EgressOptions, Recorder, TurnTooFar
from storecrawl.egress.rate_limits import HostRateLimiter, StoreRateLimiter
from storecrawl.platforms.dutchie import UpstreamClient
from storecrawl.platforms.errors import RateLimited, Unavailable

from .conftest import QUICK, Book

ONLY_ONCE = replace(QUICK, retries=0)
BROKEN = FaultDial(failure_rate=1.0, weights={FaultKind.UNAVAILABLE: 1.0})


Direct = Callable[..., UpstreamClient]


@pytest.fixture
async def direct(upstream: LocalUpstream) -> AsyncIterator[Direct]:
    async with AsyncExitStack() as stack:

        def make(**options: Any) -> UpstreamClient:
            egress = Egress(EgressOptions(**options))
            stack.push_async_callback(egress.close)
            return UpstreamClient(upstream.url, options=ONLY_ONCE, egress=egress)

        yield make


def rate_limit_faults(seconds: int) -> FaultDial:
    return FaultDial(failure_rate=1.0, weights={FaultKind.RATE_LIMITED: 1.0}, retry_after_seconds=seconds)


async def test_turns_at_a_host_are_shared_by_all_workers(database: str) -> None:
    recorders = [Recorder(database) for _ in range(2)]

    firsts = [await recorder.take_turns("upstream.example", 100, 1.0) for recorder in (*recorders, *recorders)]
    for recorder in recorders:
        await recorder.close()

    assert firsts == pytest.approx([0.0, 100.0, 200.0, 300.0], abs=40.0)


async def test_requests_to_a_host_do_not_exceed_its_rate(database: str) -> None:
    recorder = Recorder(database)
    turns = HostRateLimiter(recorder, patience=60.0)

    seconds = await _seconds_of(30, lambda: turns.wait("upstream.example", 50.0))
    await recorder.close()

    assert 0.5 < seconds < 30.0


async def test_each_worker_keeps_the_rate_while_the_database_is_unavailable() -> None:
    turns = HostRateLimiter(Recorder("postgresql://127.0.0.1:9/x"), patience=60.0)

    assert await _seconds_of(20, lambda: turns.wait("upstream.example", 50.0)) > 0.3


async def test_requests_about_one_store_do_not_exceed_its_rate() -> None:
    turns = StoreRateLimiter()

    assert await _seconds_of(20, lambda: turns.wait("a store", 50.0)) > 0.3


async def test_each_store_has_its_own_turns() -> None:
    turns = StoreRateLimiter()

    async with asyncio.timeout(40.0):
        await turns.wait("a store", 0.001)
        await turns.wait("another store", 0.001)


async def test_request_with_a_distant_turn_is_held_back(database: str) -> None:
    recorder = Recorder(database)
    await recorder.take_turns("upstream.example", 100, 1.0)
    turns = HostRateLimiter(recorder, patience=5.0)

    with pytest.raises(TurnTooFar) as raised:
        await turns.wait("upstream.example", 1.0)
    await recorder.close()

    assert 50 < raised.value.seconds <= 100


async def test_failing_host_is_left_alone_and_then_probed_once(upstream: LocalUpstream, direct: Direct) -> None:
    upstream.set_failures(BROKEN)
    client = direct(breaker_failures=3, breaker_seconds=3.0)
    for _ in range(3):
        with pytest.raises(Unavailable):
            await client.stores()

    with pytest.raises(CircuitOpen, match="3 requests in a row failed") as raised:
        await client.stores()
    assert 0 < raised.value.seconds <= 3.0
    assert upstream.stats()["requests"] == 3

    upstream.set_failures(FaultDial())
    async with asyncio.timeout(40.0):
        await _stores_at_last(client)
    assert await client.stores()


async def test_failed_probe_extends_the_time_without_requests(upstream: LocalUpstream, direct: Direct) -> None:
    upstream.set_failures(BROKEN)
    client = direct(breaker_failures=1, breaker_seconds=3.0)
    with pytest.raises(Unavailable):
        await client.stores()

    with pytest.raises(Unavailable):
        await _stores_at_last(client)

    with pytest.raises(CircuitOpen):
        await client.stores()


async def test_rate_limited_response_does_not_open_the_breaker(upstream: LocalUpstream, direct: Direct) -> None:
    upstream.set_failures(rate_limit_faults(0))
    client = direct(breaker_failures=1)

    for _ in range(3):
        with pytest.raises(RateLimited):
            await client.stores()


async def test_rate_limited_route_rests_while_another_is_used(
    upstream: LocalUpstream, book: Book, proxy: Any, make_client: Any
) -> None:
    one, other = await proxy(), await proxy()
    book.add(one), book.add(other)
    client = await make_client(upstream.url, ONLY_ONCE)
    upstream.set_failures(rate_limit_faults(30))
    with pytest.raises(RateLimited):
        await client.stores()
    upstream.set_failures(FaultDial())

    for _ in range(3):
        await client.stores()

    assert sorted([len(one.heads), len(other.heads)]) == [1, 4]  # the first hash was unknown there


async def test_wait_requested_by_the_upstream_is_bounded(upstream: LocalUpstream) -> None:
    upstream.set_failures(rate_limit_faults(80_000))

    async with UpstreamClient(upstream.url, options=replace(ONLY_ONCE, longest_retry_after=100.0)) as client:
        with pytest.raises(RateLimited) as raised:
            await client.stores()

    assert raised.value.retry_after == 100.0


async def _stores_at_last(client: UpstreamClient) -> None:
    while True:
        try:
            await client.stores()
        except CircuitOpen:
            await asyncio.sleep(0.02)
        else:
            return


async def _seconds_of(times: int, call: Callable[[], Awaitable[None]]) -> float:
    began = time.monotonic()
    for _ in range(times):
        await call()
    return time.monotonic() - began
