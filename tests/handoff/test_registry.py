"""The registry in Redis: heartbeats of workers and the lock of the leading dispatcher."""

from __future__ import annotations

import asyncio
import re

import pytest

from rolecall import Context, NewTask
from rolecall.config import Settings
from rolecall.handoff.roll import Leader
from rolecall.transport.brokers import RedisLink, connect_redis
from rolecall.web.server import upkeep
from tests.brokers import Broker, redis
from tests.handoff.house import by_handoff, comes_true, dispatching, one_redis
from tests.worker.bench import Bench

HEARTBEAT = re.compile(r"worker:[0-9a-f]{8}:heartbeat")


async def heartbeats(link: RedisLink) -> list[str]:
    return [key.decode() for key in await link.call("KEYS", "worker:*")]


async def test_worker_heartbeat_lasts_ten_seconds_and_is_removed_at_its_stop(
    bench: Bench, link: RedisLink, server: Broker
) -> None:
    async with by_handoff(bench, link, server.url):
        (key,) = await heartbeats(link)
        assert HEARTBEAT.fullmatch(key)
        assert await link.call("GET", key) == b"alive"
        assert 0 < await link.call("PTTL", key) <= 10_000
    assert await heartbeats(link) == []
    assert not await link.call("EXISTS", "rolecall:workers")


async def test_failed_and_returned_tasks_are_acknowledged_at_the_stop_too(
    bench: Bench, link: RedisLink, server: Broker
) -> None:
    begun = asyncio.Event()

    @bench.app.task(role="mail", max_attempts=1)
    async def fail() -> None:
        raise ValueError("no")

    @bench.app.task(role="mail")
    async def stay(ctx: Context) -> None:
        begun.set()
        await asyncio.Event().wait()

    async with by_handoff(bench, link, server.url, slots=2, grace=0) as dispatcher:
        failing, staying = bench.enqueue(NewTask(handler="fail"), NewTask(handler="stay"))
        await bench.finished(failing)
        await begun.wait()
        # It would push the returned task again.
        dispatcher.cancel()
        await asyncio.wait({dispatcher})
    (length,) = await link.calls([("XLEN", "rolecall:{mail}:low:stream")])
    assert (length, bench.task(staying).state) == (0, "pending")


async def test_one_dispatcher_leads_and_another_takes_over_when_it_stops(
    bench: Bench, server: Broker, link: RedisLink
) -> None:
    settings = one_redis(server.url)
    async with dispatching(bench.dsn, settings) as first:
        await comes_true(lambda: link.call("GET", "rolecall:leader"))
        led_by = await link.call("GET", "rolecall:leader")
        async with dispatching(bench.dsn, settings):
            first.cancel()
            await comes_true(lambda: other_leads(link, led_by))
    assert await link.call("GET", "rolecall:leader") is None


async def test_dispatcher_stopped_while_acquiring_the_lock_releases_it_immediately(
    bench: Bench, server: Broker, link: RedisLink
) -> None:
    for _ in range(5):
        async with dispatching(bench.dsn, one_redis(server.url)) as running:
            await comes_true(lambda: link.call("GET", "rolecall:leader"))
            running.cancel()
            done, _ = await asyncio.wait({running}, timeout=5)
        assert done
        assert await link.call("GET", "rolecall:leader") is None


async def other_leads(link: RedisLink, before: bytes) -> bool:
    return await link.call("GET", "rolecall:leader") not in (None, before)


@pytest.mark.parametrize("without", [(), ("EVAL", "EVALSHA")])
async def test_lock_taken_over_by_another_is_neither_renewed_nor_released(without: tuple[str, ...]) -> None:
    with redis(*(part for command in without for part in ("--rename-command", command, ""))) as server:
        link = connect_redis(server.url)
        leader = Leader(link, "one", "lists", "pool")
        assert await leader.holds()
        assert 9_000 < await link.call("PTTL", "rolecall:leader") <= 10_000
        await link.call("SET", "rolecall:leader", "two lists")
        await leader.release()
        assert await link.call("GET", "rolecall:leader") == b"two lists"
        assert not await Leader(link, "three", "lists", "pool").holds()
        await link.close()


async def test_server_dispatches_too_if_handoff_is_on(bench: Bench, link: RedisLink, server: Broker) -> None:
    with upkeep(bench.dsn, bench.app, Settings(handoff=one_redis(server.url))):
        await comes_true(lambda: link.call("GET", "rolecall:leader"))
    assert await link.call("GET", "rolecall:leader") is None
