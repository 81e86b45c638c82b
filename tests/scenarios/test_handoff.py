"""kill -9 of workers, dispatchers and Redis at every point of the handoff, and FLUSHALL: no task is lost or doubled."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from rolecall.config.failpoints import EXIT_CODE
from rolecall.handoff.lanes import Band, Lane, Message
from rolecall.handoff.roll import note_roles
from rolecall.handoff.streams import GROUP, StreamQueue
from rolecall.transport.brokers import RedisLink, Script, connect_redis
from tests.brokers import Broker
from tests.handoff.house import comes_true
from tests.scenarios.victims import REPOSITORY, Victims, ended
from tests.worker.bench import until

PLACES = ("after_take:3", "after_claim:3", "mid_handler:4", "before_finish:2", "after_finish:2", "before_ack:3")
NUMBER = 150
# Seconds: these tests start a dozen processes, on any number of cores.
PATIENCE = 120.0
LANE = Lane(Band.LOW, "victim")
# Milliseconds: longer than a reclaimer waits.
LONG_AGO = 60_000
AGE = Script("""
for _, stream in ipairs(KEYS) do
    local taken = redis.pcall('XPENDING', stream, ARGV[1], '-', '+', 100)
    for _, entry in ipairs(taken.err and {} or taken) do
        redis.call('XCLAIM', stream, ARGV[1], entry[2], 0, entry[1], 'IDLE', ARGV[2])
    end
end
""")


@contextmanager
def dispatcher(victims: Victims, number: int, failpoint: str = "") -> Iterator[subprocess.Popen[bytes]]:
    """Run `rolecall dispatch` during the block."""
    with (victims.folder / f"dispatcher-{number}.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "rolecall", "dispatch"],
            cwd=REPOSITORY,
            env=os.environ
            | {"DATABASE_URL": victims.bench.dsn, "ROLECALL_FAILPOINT": failpoint, "PYTHONPATH": "src:."},
            stderr=log,
            stdout=log,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


async def a_dispatcher_leads(link: RedisLink) -> None:
    await comes_true(lambda: link.call("GET", "rolecall:leader"), PATIENCE)


@pytest.mark.timeout(600)
async def test_kill_at_any_point_loses_nothing_and_duplicates_nothing(
    victims: Victims, redis_server: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROLECALL_REDIS_URL", redis_server.url)
    link = connect_redis(redis_server.url)
    ids = victims.enqueue("record_and_complete", NUMBER) + victims.enqueue("record", NUMBER)
    with ExitStack() as processes:
        leading = processes.enter_context(dispatcher(victims, 0))
        await a_dispatcher_leads(link)
        processes.enter_context(dispatcher(victims, 1))
        dying = [processes.enter_context(victims.process(place, failpoint=place)) for place in PLACES]
        assert await asyncio.gather(*(ended(process, PATIENCE) for process in dying)) == [EXIT_CODE] * len(PLACES)

        leading.kill()
        processes.enter_context(victims.process("last"))
        await until(lambda: "Tasks are dispatched through Redis" in victims.log("last"), PATIENCE)
        before = number_finished(victims)
        ids += victims.enqueue("record", NUMBER)
        await until(lambda: number_finished(victims) > before + NUMBER // 4, PATIENCE)
        await link.call("FLUSHALL")
        await until(lambda: number_finished(victims) > before + NUMBER // 2, PATIENCE)
        redis_server.kill()
        await until(lambda: number_finished(victims) > before + NUMBER * 3 // 4, PATIENCE)
        redis_server.start()
        tasks = await victims.bench.finished(*ids, within=PATIENCE)
        await a_dispatcher_leads(link)
        # Redis contains no trace of it.
        await comes_true(lambda: is_empty(link), within=PATIENCE)
    await link.close()

    assert {task.state for task in tasks} == {"completed"}
    assert {victims.times_finished(task_id) for task_id in ids} == {1}
    assert [len(victims.effects(task_id)) for task_id in ids[:NUMBER]] == [1] * NUMBER
    assert all(1 <= len(victims.effects(task_id)) <= 1 + len(PLACES) for task_id in ids[NUMBER:])


@pytest.mark.timeout(300)
@pytest.mark.parametrize("place", ["before_push:2", "after_push:2"])
async def test_dispatcher_death_during_a_push_loses_and_duplicates_nothing(
    place: str, victims: Victims, redis_server: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROLECALL_REDIS_URL", redis_server.url)
    link = connect_redis(redis_server.url)
    ids = victims.enqueue("record_and_complete", NUMBER)
    with ExitStack() as processes:
        dying = processes.enter_context(dispatcher(victims, 0, place))
        await a_dispatcher_leads(link)
        processes.enter_context(victims.process("worker"))
        assert await ended(dying, PATIENCE) == EXIT_CODE
        await no_dispatcher_leads(link)
        processes.enter_context(dispatcher(victims, 1))
        tasks = await victims.bench.finished(*ids, within=PATIENCE)
    await link.close()

    assert {task.state for task in tasks} == {"completed"}
    assert [len(victims.effects(task_id)) for task_id in ids] == [1] * NUMBER


@pytest.mark.timeout(300)
@pytest.mark.parametrize("place", ["before_put_back", "after_put_back"])
async def test_dispatcher_death_while_returning_entries_loses_and_duplicates_nothing(
    place: str, victims: Victims, redis_server: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROLECALL_REDIS_URL", redis_server.url)
    link = connect_redis(redis_server.url)
    ids = victims.enqueue("record_and_complete", 5)
    await taken_long_ago(link, ids)
    with dispatcher(victims, 0, place) as dying:
        assert await ended(dying, PATIENCE) == EXIT_CODE
    await no_dispatcher_leads(link)
    await all_are_stale(link)
    with dispatcher(victims, 1), victims.process("last"):
        tasks = await victims.bench.finished(*ids, within=PATIENCE)
    await link.close()

    assert {task.state for task in tasks} == {"completed"}
    assert [len(victims.effects(task_id)) for task_id in ids] == [1] * len(ids)


async def no_dispatcher_leads(link: RedisLink) -> None:
    """Release the lock of a killed dispatcher, which would otherwise take ten seconds."""
    await link.call("DEL", "rolecall:leader")


async def taken_long_ago(link: RedisLink, ids: list[int]) -> None:
    """Make a worker take these tasks and then disappear."""
    queue = StreamQueue(link, "dead")
    await queue.push(LANE, [Message(task_id=task_id) for task_id in ids], len(ids), len(ids))
    await queue.take([LANE], len(ids))
    await note_roles(link, [LANE.role])
    await all_are_stale(link)


async def all_are_stale(link: RedisLink) -> None:
    """Make all taken tasks look as if they had been taken long ago."""
    await link.run(AGE, [LANE.key("stream"), LANE.key("front")], [GROUP, LONG_AGO])


def number_finished(victims: Victims) -> int:
    return int(victims.bench.ask("select count(*) from rolecall.finished_tasks"))


async def is_empty(link: RedisLink) -> bool:
    return not await link.call("EXISTS", "rolecall:{victim}:low:out")
