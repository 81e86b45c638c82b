"""The format of server-sent events and the handling of slow clients."""

from __future__ import annotations

import asyncio

from starlette.types import Message

from rolecall.model.operator.live import ReloadReason, TaskChange
from rolecall.model.states import TaskState
from rolecall.service.live import Stream, Subscription
from rolecall.web.http.events import EventStream, events_of

SCOPE = {"type": "http", "asgi": {"spec_version": "2.3"}}


def change(task_id: int) -> TaskChange:
    return TaskChange(task_id, None, "sums", TaskState.RUNNING, str(task_id))


async def stays() -> bool:
    return True


async def test_idle_stream_sends_heartbeats_and_keeps_its_clients_position() -> None:
    stream = Stream(Subscription())
    stream.mark("7-1")
    events = events_of(stream, stays, heartbeat=0.01)

    assert await anext(events) == b"event: connected\ndata: {}\nid: 7-1\n\n"
    stream.mark("8-1")
    assert await anext(events) == b"event: heartbeat\ndata: {}\nid: 8-1\n\n"
    stream.end()
    assert [event async for event in events] == []


async def test_only_the_last_event_of_a_batch_has_an_id() -> None:
    stream = Stream(Subscription())
    stream.add_tasks([change(1), change(2)])
    stream.mark("7-2")
    events = events_of(stream, stays)

    await anext(events)
    first, second = (await anext(events)).decode().strip().split("\n\n")

    assert "id: " not in first
    assert second.endswith("\nid: 7-2")


async def test_database_outage_and_recovery_are_reported() -> None:
    stream = Stream(Subscription())
    events = events_of(stream, stays)
    await anext(events)

    stream.add_stale(7.21)
    assert await anext(events) == b'event: stale\ndata: {"seconds":7.2}\n\n'
    stream.add_fresh()
    assert await anext(events) == b"event: fresh\ndata: {}\n\n"


async def test_slow_client_receives_only_the_latest_state_and_finally_a_reload() -> None:
    stream = Stream(Subscription())
    for version in ("1", "2"):
        stream.add_tasks([TaskChange(1, None, "sums", TaskState.RUNNING, version)])
    assert [task.version for task in (await stream.next(0)).tasks.values()] == ["2"]

    for task_id in range(1_001):
        stream.add_tasks([change(task_id)])
    batch = await stream.next(0)

    assert (batch.reload, batch.tasks) == (ReloadReason.CROWD, {})


async def test_busy_stream_ends_once_its_client_loses_access() -> None:
    stream = Stream(Subscription())
    checks: list[bool] = []

    async def stays_twice() -> bool:
        checks.append(len(checks) < 2)
        return checks[-1]

    events = events_of(stream, stays_twice, heartbeat=0.01)
    result = 0
    async with asyncio.timeout(30):
        async for _ in events:
            stream.add_tasks([change(1)])
            result += 1

    assert checks == [True, True, False]
    assert result > 2


async def test_client_that_does_not_read_is_disconnected() -> None:
    stuck = asyncio.Event()

    async def receive() -> Message:
        await stuck.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            await stuck.wait()

    async with asyncio.timeout(30):
        await EventStream(events_of(Stream(Subscription()), stays), patience=0.05)(SCOPE, receive, send)
