"""Messages that Redis loses, repeats or invents cost only a query, because the claim decides."""

from __future__ import annotations

import json
import logging
from collections import Counter

import pytest

from rolecall import Context, NewTask
from rolecall.db.run import run
from rolecall.sql import roles
from rolecall.transport.brokers import RedisLink, connect_redis
from tests.brokers import Broker
from tests.handoff.house import by_handoff, comes_true, dispatching, one_redis
from tests.worker.bench import Bench, until

STREAM = "rolecall:{mail}:low:stream"


class Runs(Counter[int]):
    """The number of runs of each task."""

    def tasks(self, *numbers: int) -> list[NewTask]:
        return [NewTask(handler="send", payload={"n": n}) for n in numbers]


@pytest.fixture
def ran(bench: Bench) -> Runs:
    ran = Runs()

    @bench.app.task(role="mail")
    async def send(ctx: Context, n: int) -> None:
        ran[n] += 1

    bench.enqueue()
    return ran


async def test_duplicate_late_and_unknown_ids_are_rejected(
    bench: Bench, ran: Runs, link: RedisLink, server: Broker
) -> None:
    ids = bench.enqueue(*ran.tasks(*range(10)))
    async with by_handoff(bench, link, server.url):
        for task_id in (*reversed(ids), *ids, 10**12):
            await link.call("XADD", STREAM, "*", "message", json.dumps({"task_id": task_id}))
        await link.call("XADD", STREAM, "*", "message", b"{\xff")
        await link.call("RPUSH", "rolecall:{mail}:low:bell", 1)
        await bench.finished(*ids)
        await comes_true(lambda: is_empty(link))
    assert ran == dict.fromkeys(range(10), 1)


async def is_empty(link: RedisLink) -> bool:
    return not await link.call("XLEN", STREAM)


async def test_paused_role_message_is_rejected_and_dispatched_again_after_the_resume(
    bench: Bench, ran: Runs, link: RedisLink, server: Broker
) -> None:
    run(bench.connection, roles.pause("mail", None, None))
    (task_id,) = bench.enqueue(*ran.tasks(1))
    async with by_handoff(bench, link, server.url):
        await link.call("XADD", STREAM, "*", "message", json.dumps({"task_id": task_id}))
        await link.call("RPUSH", "rolecall:{mail}:low:bell", 1)
        await comes_true(lambda: is_empty(link))
        assert not ran
        run(bench.connection, roles.resume("mail"))
        await bench.finished(task_id)


async def test_worker_without_a_dispatcher_polls_immediately(
    bench: Bench, ran: Runs, server: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        async with bench.working(roles=("mail",), handoff=one_redis(server.url)):
            await bench.finished(*bench.enqueue(*ran.tasks(1)), within=5)
    assert "No dispatcher is running" in caplog.text


async def test_worker_polls_while_redis_is_down_and_returns_automatically(
    bench: Bench, ran: Runs, redis_server: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    link = connect_redis(redis_server.url)
    with caplog.at_level(logging.INFO):
        async with by_handoff(bench, link, redis_server.url):
            await bench.finished(*bench.enqueue(*ran.tasks(1)))
            redis_server.kill()
            await bench.finished(*bench.enqueue(*ran.tasks(2)), within=10)
            redis_server.start()
            await until(lambda: caplog.text.count("Tasks are dispatched through Redis") == 2)
            await bench.finished(*bench.enqueue(*ran.tasks(3)))
    assert "Redis does not answer" in caplog.text
    assert ran == {1: 1, 2: 1, 3: 1}
    await link.close()


async def test_redis_data_loss_loses_and_duplicates_nothing(
    bench: Bench, ran: Runs, link: RedisLink, server: Broker
) -> None:
    ids = bench.enqueue(*ran.tasks(*range(300)))
    async with by_handoff(bench, link, server.url, slots=3):
        for least in (50, 100, 200):
            await until(lambda least=least: len(ran) >= least)  # type: ignore[misc]
            await link.call("FLUSHALL")
        await bench.finished(*ids)
    assert ran == dict.fromkeys(range(300), 1)


async def test_scheduled_task_is_dispatched_when_due(bench: Bench, ran: Runs, link: RedisLink, server: Broker) -> None:
    async with by_handoff(bench, link, server.url):
        (task_id,) = bench.enqueue(*(task.options(after=1) for task in ran.tasks(1)))
        await bench.finished(task_id, within=10)


async def test_two_dispatchers_dispatch_each_task_once(
    bench: Bench, ran: Runs, link: RedisLink, server: Broker
) -> None:
    async with dispatching(bench.dsn, one_redis(server.url)), by_handoff(bench, link, server.url):
        await bench.finished(*bench.enqueue(*ran.tasks(*range(100))))
    assert ran == dict.fromkeys(range(100), 1)
    assert await link.call("GET", "rolecall:leader") is None
