"""The handoff in an operator's view: why, the doctor, the overview and the API's status."""

from __future__ import annotations

import json

import pytest

from rolecall import NewTask
from rolecall.config import Settings
from rolecall.db.connect import connect_async
from rolecall.model.audit import Actor
from rolecall.model.operator.why import CauseKind
from rolecall.service.database import OneConnection
from rolecall.service.services import Services
from rolecall.transport.brokers import RedisLink
from tests.brokers import Broker, redis, sentinel
from tests.handoff.house import comes_true, dispatching, doctors_words, one_redis
from tests.worker.bench import Bench


async def test_tasks_waiting_in_redis_are_shown_in_all_interfaces(
    bench: Bench, link: RedisLink, server: Broker
) -> None:
    @bench.app.task(role="mail")
    async def send() -> None: ...

    (task_id,) = bench.enqueue(NewTask(handler="send"))
    await link.call("HSET", "rolecall:workers", "ghost", json.dumps({"number": 1, "room": 1, "handlers": ["send"]}))
    await link.call("SET", "worker:ghost:heartbeat", "alive")
    settings = one_redis(server.url)
    async with dispatching(bench.dsn, settings), await connect_async(bench.dsn, "test") as connection:
        await comes_true(lambda: link.call("EXISTS", "rolecall:{mail}:low:stream"))
        services = Services(OneConnection(connection, Actor(name="test", via="cli")), Settings(handoff=settings))
        why = await services.tasks.why(task_id)
        now = await services.handoff.show()
        diagnosis = await services.doctor.examine(listening=False)
    assert why.causes[-1].kind is CauseKind.HANDED_OVER
    assert "handed to Redis at " in why.causes[-1].sentence
    assert now is not None
    assert (now.kind, now.workers, now.problem) == ("streams", 1, None)
    (low,) = (lane for lane in now.lanes if lane.band == "low")
    assert (low.role, low.waiting, low.taken) == ("mail", 1, 0)
    assert low.waiting_since is not None
    assert "handoff" in diagnosis.checks
    assert not [finding for finding in diagnosis.findings if finding.check == "handoff"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [(("--maxmemory-policy", "allkeys-lru"), "maxmemory-policy allkeys-lru"), ((), "no dispatcher is running")],
)
async def test_doctor_reports_handoff_problems(bench: Bench, options: tuple[str, ...], problem: str) -> None:
    with redis(*options) as server:
        assert problem in await doctors_words(bench.dsn, one_redis(server.url))


async def test_doctor_reports_that_redis_does_not_respond(bench: Bench, redis_server: Broker) -> None:
    redis_server.kill()
    assert "Redis does not respond, so workers poll" in await doctors_words(bench.dsn, one_redis(redis_server.url))


async def test_doctor_reports_in_one_line_that_sentinel_has_no_master(bench: Bench) -> None:
    with redis() as master, sentinel("shop", master.port) as watcher:
        url = f"redis+sentinel://:secret@127.0.0.1:{watcher.port}/shop"
    problem = await doctors_words(bench.dsn, one_redis(url))
    assert problem.startswith(
        "Redis does not respond, so workers poll: No master found for 'shop': no Sentinel answers"
    )
    assert len(problem) < 150
