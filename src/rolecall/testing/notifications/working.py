"""Cases with real workers, notified by the transport or by a faulty one."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from typing import Any

import psycopg

from rolecall.app import App
from rolecall.client.async_client import AsyncClient
from rolecall.client.requests import new_task
from rolecall.db.connect import connect_async
from rolecall.db.run import run_async
from rolecall.model.errors import WaitTimeout
from rolecall.model.tasks import Task
from rolecall.model.workers import WorkerCommand, WorkerInfo
from rolecall.sql import roles, workers
from rolecall.testing.draining import working
from rolecall.testing.notifications.faults import lossy, repeating, shuffling
from rolecall.testing.notifications.ground import PATIENCE, Case, Ground, NotHere, collect_payloads, require, run_relay
from rolecall.transport.transport import PAUSE_CHANNEL, WAKE_CHANNEL, Reach, Transport
from rolecall.worker.options import WorkerOptions

NEVER = 600.0
SOON = 5.0
ROLE = "conformance"
BURSTS = 4
MOMENT = 0.2
# A worker without notifications polls every second.
QUIET = """
select count(*) from pg_stat_activity
where datname = current_database() and application_name like 'rolecall:worker:claim:%'
    and clock_timestamp() - query_start > interval '1.3 s'
"""
LOOKED = """
select count(*) from pg_stat_activity
where datname = current_database() and application_name like 'rolecall:worker:claim:%%' and query_start > %s
"""
STEP = """
create procedure public.conformance_step(payload jsonb, inout info jsonb) language plpgsql
as $$ begin info := '{}'; end $$
"""
FOLLOWING = "select count(*) from rolecall.workers where following = 'drain'"


@dataclass(frozen=True, slots=True)
class Scene:
    """Workers notified by the transport, and access to their database."""

    app: App
    client: AsyncClient
    connection: psycopg.AsyncConnection[Any]
    runs: Counter[int]

    async def query_value(self, query: str, *params: object) -> Any:
        """Return the first column of the first row."""
        cursor = await self.connection.execute(query.encode(), params or None)
        row = await cursor.fetchone()
        return row[0] if row else None

    async def wait_for(
        self, query: str, expected: int, problem: str, *params: object, within: float = PATIENCE
    ) -> None:
        deadline = monotonic() + within
        while await self.query_value(query, *params) != expected:
            require(monotonic() < deadline, f"{problem}, within {within:g} s")
            await asyncio.sleep(0.02)

    async def quiet(self, number: int = 1) -> None:
        """Wait until this number of workers listens and does not poll."""
        await self.wait_for(QUIET, number, "workers poll as if they received no notifications")

    async def wait_for_end(self, task_id: int, state: str, what: str, within: float = SOON) -> Task:
        """Wait until a task has finished with this status."""
        try:
            task = await self.client.wait(task_id, timeout=within)
        except WaitTimeout:
            raise AssertionError(f"{what}: not noticed within {within:g} s") from None
        require(task.state == state, f"{what}: the task is {task.state}")
        return task


@asynccontextmanager
async def scene(ground: Ground, *transports: Transport, poll_interval: float = NEVER) -> AsyncIterator[Scene]:
    """Run a worker on each transport, and a relay if they need one."""
    app, runs = App("conformance"), Counter[int]()

    @app.task(role=ROLE)
    async def count(n: int) -> None:
        runs[n] += 1

    @app.task(role=ROLE)
    async def linger() -> None:
        await asyncio.Event().wait()

    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        if transports and transports[0].reach is not Reach.NOTHING:
            await enter(run_relay(ground))
        connection = await enter(await connect_async(ground.dsn, "scene"))
        client = await enter(AsyncClient(ground.dsn, app=app))
        await run_async(connection, roles.declare(*app.declaration()))
        for transport in transports:
            options = WorkerOptions(
                notifications=transport, maintenance=False, slots=2, poll_interval=poll_interval, grace=0.5
            )
            await enter(working(app, ground.dsn, options))
        yield Scene(app, client, connection, runs)


async def a_worker_hears_of_work_and_of_cancellations(ground: Ground) -> None:
    """Notifications arrive long before the next poll."""
    async with scene(ground, ground.delivering_transport()) as scene_:
        await scene_.quiet()
        task = await scene_.client.enqueue("count", {"n": 1})
        await scene_.wait_for_end(task.id, "completed", "an enqueue")
        lingering = await scene_.client.enqueue("linger")
        running = "select count(*) from rolecall.tasks where id = %s and state = 'running'"
        await scene_.wait_for(running, 1, "the second enqueue was not noticed", lingering.id, within=SOON)
        await scene_.client.cancel(lingering.id)
        await scene_.wait_for_end(lingering.id, "cancelled", "a cancellation")


async def a_worker_hears_of_pauses_commands_and_handlers(ground: Ground) -> None:
    """Notifications from other database sessions also arrive long before the next poll."""
    transport = _of_the_database(ground)
    async with scene(ground, transport) as scene_, collect_payloads(ground.transport(), PAUSE_CHANNEL) as pauses:
        await scene_.quiet()
        await run_async(scene_.connection, roles.pause(ROLE, None, None))
        require(await _next(pauses) == ROLE, "the pause of another role was received")
        waiting = await scene_.client.enqueue("count", {"n": 1})
        await scene_.quiet()
        await run_async(scene_.connection, roles.resume(ROLE))
        await scene_.wait_for_end(waiting.id, "completed", "the end of a pause")

        await scene_.connection.execute(STEP.encode())
        other = App("other")
        step = other.procedure("conformance_step", "public.conformance_step", role=ROLE)
        async with AsyncClient(ground.dsn, app=other) as client:
            stepping = await client.enqueue(step.task())
        await scene_.wait_for_end(stepping.id, "completed", "a handler declared in the meantime")

        worker_id = await scene_.query_value("select id from rolecall.workers")
        await run_async(scene_.connection, workers.command(worker_id, WorkerCommand.DRAIN))
        await scene_.wait_for(FOLLOWING, 1, "a command was not followed", within=SOON)


async def a_wake_names_one_worker_more_than_there_are_tasks(ground: Ground) -> None:
    """A wake names one worker more than there are tasks, or none for all workers. One task does not wake a fleet."""
    async with (
        scene(ground) as scene_,
        run_relay(ground),
        collect_payloads(ground.delivering_transport(), WAKE_CHANNEL) as wakes,
    ):
        for number in range(6):
            worker_id = await run_async(scene_.connection, workers.register(_worker(number)))
            await run_async(scene_.connection, workers.mark_idle(worker_id, idle=True))
        await _drain_wakes(scene_.client, wakes)
        for number in (1, 3):
            await scene_.client.enqueue_many([new_task("count", {"n": n}, {}, scene_.app) for n in range(number)])
            role, _, names = (await _next(wakes)).partition(":")
            require(role in {ROLE, ""}, f"the wake is for {role!r}")
            count = len(set(filter(None, names.split(","))))
            require(count in {0, number + 1}, f"{count} workers were named for {number} tasks")


async def only_who_is_named_looks(ground: Ground) -> None:
    """The workers that a wake names claim tasks, the others do not. A wake without names reaches all."""
    transport = ground.delivering_transport()
    async with scene(ground, ground.transport(), ground.transport()) as scene_:
        await scene_.quiet(2)
        chosen, since = await scene_.query_value("select min(id) from rolecall.workers"), await _database_time(scene_)
        await transport.publish(WAKE_CHANNEL, f"{ROLE}:{chosen}")
        await scene_.wait_for(LOOKED, 1, "the named worker did not look for tasks", since, within=SOON)
        await scene_.quiet(2)
        require(await scene_.query_value(LOOKED, since) == 1, "a worker that was not named looked for tasks")
        since = await _database_time(scene_)
        await transport.publish(WAKE_CHANNEL, ROLE)
        await scene_.wait_for(LOOKED, 2, "not all workers looked for tasks", since, within=SOON)
    await transport.close()


async def where_all_is_lost_the_poll_interval_is_the_most(ground: Ground) -> None:
    """Without notifications, no task waits longer than the poll interval."""
    async with scene(ground, lossy(ground.transport()), poll_interval=0.3) as scene_:
        await _works(scene_)


async def what_comes_thrice_is_done_once(ground: Ground) -> None:
    """Repeated notifications do not run a task twice."""
    async with scene(ground, repeating(ground.transport()), poll_interval=1.0) as scene_:
        await _works(scene_)


async def what_comes_in_another_order_is_done_all_the_same(ground: Ground) -> None:
    """The order of notifications does not matter, because workers read the state from the database."""
    async with scene(ground, shuffling(ground.transport()), poll_interval=1.0) as scene_:
        await _works(scene_)


async def a_worker_polls_through_an_outage_and_hears_again_after_it(ground: Ground) -> None:
    """Without a server, tasks are noticed within seconds. After it returns, they are noticed at once."""
    async with scene(ground, ground.delivering_transport()) as scene_:
        await ground.take_away()
        task = await scene_.client.enqueue("count", {"n": 1})
        await scene_.wait_for_end(task.id, "completed", "an enqueue during the outage")
        await ground.bring_back()
        await scene_.quiet()
        task = await scene_.client.enqueue("count", {"n": 2})
        await scene_.wait_for_end(task.id, "completed", "an enqueue after the outage")


CASES: tuple[Case, ...] = (
    a_worker_hears_of_work_and_of_cancellations,
    a_worker_hears_of_pauses_commands_and_handlers,
    a_wake_names_one_worker_more_than_there_are_tasks,
    only_who_is_named_looks,
    where_all_is_lost_the_poll_interval_is_the_most,
    what_comes_thrice_is_done_once,
    what_comes_in_another_order_is_done_all_the_same,
    a_worker_polls_through_an_outage_and_hears_again_after_it,
)


def _of_the_database(ground: Ground) -> Transport:
    transport = ground.delivering_transport()
    if transport.reach is Reach.PROCESS:
        raise NotHere("the transport is limited to this process")
    return transport


async def _works(scene_: Scene) -> None:
    """Enqueue bursts while the role is paused and resumed. Each task runs soon, and once."""
    ids = []
    for burst in range(BURSTS):
        await run_async(scene_.connection, roles.pause(ROLE, None, None))
        batch = [new_task("count", {"n": 5 * burst + n}, {}, scene_.app) for n in range(5)]
        ids += [stored.id for stored in await scene_.client.enqueue_many(batch)]
        await run_async(scene_.connection, roles.resume(ROLE))
    for task_id in ids:
        await scene_.wait_for_end(task_id, "completed", "an enqueue")
    require(set(scene_.runs.values()) == {1} and len(scene_.runs) == len(ids), f"not once each: {scene_.runs}")


async def _drain_wakes(client: AsyncClient, wakes: asyncio.Queue[str]) -> None:
    """Wait until a relay, which may have just started, forwards wakes and no more arrive."""
    deadline = monotonic() + PATIENCE
    while wakes.empty():
        require(monotonic() < deadline, "no wake was received")
        await client.enqueue("count", {"n": 0})
        await asyncio.sleep(MOMENT)
    while not wakes.empty():
        wakes.get_nowait()
        await asyncio.sleep(MOMENT)


async def _next(payloads: asyncio.Queue[str]) -> str:
    try:
        async with asyncio.timeout(SOON):
            return await payloads.get()
    except TimeoutError:
        raise AssertionError(f"nothing was received within {SOON:g} s") from None


async def _database_time(scene_: Scene) -> datetime:
    now: datetime = await scene_.query_value("select clock_timestamp()")
    return now


def _worker(number: int) -> WorkerInfo:
    return WorkerInfo(
        name=f"idle-{number}", roles=(ROLE,), handlers=("count",), slots=1, host="nowhere", pid=number + 1, version="0"
    )
