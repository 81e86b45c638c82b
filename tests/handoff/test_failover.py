"""When the Redis master dies and Sentinel promotes its replica, all work continues."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from rolecall import Context, NewTask
from rolecall.transport.brokers import RedisLink, connect_redis
from rolecall.transport.choice import choose
from rolecall.transport.in_process import InProcess
from rolecall.transport.listener import Listener
from rolecall.transport.relay import Relay
from rolecall.transport.transport import WAKE_CHANNEL
from tests.brokers import Broker, redis, sentinel
from tests.handoff.house import by_handoff, comes_true
from tests.worker.bench import Bench, until


@dataclass(frozen=True)
class Watched:
    """A master with a replica; `link` and `url` connect to the one that Sentinel names."""

    master: Broker
    url: str
    link: RedisLink


@pytest.fixture
async def watched() -> AsyncIterator[Watched]:
    with (
        redis("--repl-diskless-sync-delay", "0") as master,
        redis("--replicaof", "127.0.0.1", str(master.port)) as replica,
    ):
        copy = connect_redis(replica.url)
        await comes_true(lambda: follows(copy))
        with sentinel("shop", master.port) as watcher:
            watching = connect_redis(watcher.url)
            await comes_true(lambda: watching.call("SENTINEL", "REPLICAS", "shop"))
            url = f"redis+sentinel://127.0.0.1:{watcher.port}/shop"
            link = connect_redis(url)
            yield Watched(master, url, link)
            for each in (link, watching, copy):
                await each.close()


async def follows(replica: RedisLink) -> bool:
    """Return whether the replica is in sync."""
    return bool((await replica.call("ROLE"))[3] == b"connected")


async def test_redis_failover_loses_and_duplicates_no_task(
    bench: Bench, watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    ran: Counter[int] = Counter()

    @bench.app.task(role="mail")
    async def send(ctx: Context, n: int) -> None:
        ran[n] += 1

    def tasks(first: int) -> list[NewTask]:
        return [NewTask(handler="send", payload={"n": n}) for n in range(first, first + 200)]

    with caplog.at_level(logging.INFO):
        async with by_handoff(bench, watched.link, watched.url, slots=3):
            ids = bench.enqueue(*tasks(0))
            await until(lambda: len(ran) >= 50)
            watched.master.kill()
            ids += bench.enqueue(*tasks(200))
            await until(lambda: caplog.text.count("Tasks are dispatched through Redis") == 2)
            ids += bench.enqueue(*tasks(400))
            await bench.finished(*ids)
    assert ran == dict.fromkeys(range(600), 1)
    assert "polling instead" in caplog.text


async def test_notifications_arrive_again_after_a_redis_failover(watched: Watched) -> None:
    result = asyncio.Event()
    source, transport = InProcess(), choose(watched.url, InProcess())
    listener = Listener(transport, {WAKE_CHANNEL: lambda _what: result.set()}, lambda: None)
    relaying = [asyncio.create_task(each.run()) for each in (Relay(source, transport), listener)]
    await until(lambda: listener.alive)

    watched.master.kill()
    await until(lambda: listener.is_cut_off)
    await until(lambda: listener.alive)
    await source.publish(WAKE_CHANNEL, "mail")
    async with asyncio.timeout(10):
        await result.wait()

    for task in relaying:
        task.cancel()
    await asyncio.wait(relaying)
