"""Workers with the handoff: real workers, a real dispatcher, a real Redis."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import replace

import pytest

from rolecall import Context, NewTask
from rolecall.config.handoff import HandoffKind
from rolecall.handoff.dispatcher import AHEAD_OF_NOBODY
from rolecall.transport.brokers import RedisLink
from tests.brokers import Broker
from tests.handoff.house import LONG, by_handoff, comes_true, dispatching, one_redis
from tests.worker.bench import Bench, until

HANDED = "Tasks are dispatched through Redis"
MARKED_IDLE = "select count(*) from rolecall.idle_marks where worker_id > 0 and until > now()"


@pytest.fixture
def app(bench: Bench) -> Bench:
    """The bench with a configurable handler."""

    @bench.app.task(role="mail")
    async def send(ctx: Context, n: int) -> int:
        return n

    bench.enqueue()
    return bench


def sends(*numbers: int, **options: object) -> list[NewTask]:
    return [NewTask(handler="send", payload={"n": n}, **options) for n in numbers]  # type: ignore[arg-type]


async def test_tasks_are_completed_and_leave_nothing_in_redis(app: Bench, link: RedisLink, server: Broker) -> None:
    async with by_handoff(app, link, server.url, slots=4):
        ids = app.enqueue(*sends(*range(50)))
        done = await app.finished(*ids)
        await comes_true(lambda: nothing_is_out(link))

    assert [task.result for task in done] == list(range(50))
    assert {task.attempt for task in done} == {1}


async def nothing_is_out(link: RedisLink) -> bool:
    return not await link.call("ZCARD", "rolecall:{mail}:low:out")


async def test_first_log_line_of_a_worker_names_the_handoff(
    app: Bench, link: RedisLink, server: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        async with by_handoff(app, link, server.url, name="ada", roles=()):
            await until(lambda: HANDED in caplog.text)
    assert ", by hand-off" in caplog.text
    first = next(line for line in caplog.messages if line.startswith("Starting worker ada"))
    assert first.endswith("for role: all (slots: 1), by hand-off")


async def test_idle_worker_gets_a_task_without_querying_postgres(app: Bench, link: RedisLink, server: Broker) -> None:
    async with by_handoff(app, link, server.url):
        await app.finished(*app.enqueue(*sends(1)))
        # It may have reported that it is idle before it was notified of a leading dispatcher.
        await until(lambda: not app.ask(MARKED_IDLE))
        await app.finished(*app.enqueue(*sends(2)), within=5)
        assert not app.ask(MARKED_IDLE)


async def test_urgent_tasks_use_the_lane_that_is_taken_first(app: Bench, link: RedisLink, server: Broker) -> None:
    order: list[int] = []

    @app.app.task(role="mail")
    async def note(ctx: Context, n: int) -> None:
        order.append(n)

    ids = app.enqueue(
        *(NewTask(handler="note", payload={"n": n}, priority=priority) for n, priority in ((1, 0), (2, -1), (3, 5)))
    )
    async with by_handoff(app, link, server.url):
        await app.finished(*ids)
    assert order == [3, 1, 2]


async def test_message_names_the_task_the_attempt_and_the_time(app: Bench, link: RedisLink, server: Broker) -> None:
    settings = one_redis(server.url)
    (task_id,) = app.enqueue(*sends(1))
    await link.call("HSET", "rolecall:workers", "ghost", json.dumps({"number": 1, "room": 1, "handlers": ["send"]}))
    await link.call("SET", "worker:ghost:heartbeat", "alive")
    async with dispatching(app.dsn, settings):
        await comes_true(lambda: link.call("EXISTS", "rolecall:{mail}:low:stream"))
        ((_, fields),) = await link.call("XRANGE", "rolecall:{mail}:low:stream", "-", "+")
    message = json.loads(fields[b"message"])
    assert (message["task_id"], message["attempt"]) == (task_id, 1)
    assert message["at"]


async def test_ids_of_a_role_without_worker_are_in_its_list(app: Bench, link: RedisLink, server: Broker) -> None:
    @app.app.task(role="reports")
    async def report() -> None: ...

    ids = app.enqueue(*(NewTask(handler="report") for _ in range(AHEAD_OF_NOBODY + 1)))
    await link.call("HSET", "rolecall:workers", "ghost", json.dumps({"number": 1, "room": 1, "roles": ["mail"]}))
    await link.call("SET", "worker:ghost:heartbeat", "alive")
    async with dispatching(app.dsn, replace(one_redis(server.url), kind=HandoffKind.LISTS)):
        await comes_true(lambda: link.call("LLEN", "rolecall:{reports}:low"))
        messages = await link.call("LRANGE", "rolecall:{reports}:low", 0, -1)
    assert [json.loads(message)["task_id"] for message in messages] == list(ids[:AHEAD_OF_NOBODY])


async def test_worker_that_starts_takes_the_ids_that_wait_for_it(app: Bench, link: RedisLink, server: Broker) -> None:
    ids = app.enqueue(*sends(*range(AHEAD_OF_NOBODY + 1)))
    async with dispatching(app.dsn, one_redis(server.url)):
        await comes_true(lambda: link.call("EXISTS", "rolecall:{mail}:low:stream"))
        async with app.working(roles=("mail",), poll_interval=LONG, handoff=one_redis(server.url)):
            assert [task.attempt for task in await app.finished(*ids)] == [1] * len(ids)


async def test_polled_and_dispatched_tasks_of_one_key_never_run_concurrently(
    bench: Bench, link: RedisLink, server: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rolecall.worker.handoff.LOOK_EVERY", 0.0)
    running, most = 0, 0

    @bench.app.task(role="mail")
    async def work() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1

    @bench.app.task(role="mail")
    async def quick() -> None: ...

    bench.enqueue()
    async with by_handoff(bench, link, server.url, slots=4):
        # With tasks that finish immediately, the worker prefetches.
        await bench.finished(*bench.enqueue(*(quick.task() for _ in range(200))))
        await bench.finished(*bench.enqueue(*(work.task().options(key="store") for _ in range(100))))

    assert most == 1
