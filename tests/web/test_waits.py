"""Many waiting requests share one query, and no caller can use up all places."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import psycopg
import pytest

from rolecall.db.connect import connect_async
from rolecall.db.run import run_async
from rolecall.model.errors import DatabaseUnavailable, TooManyRequests
from rolecall.model.operator.access import Scope
from rolecall.service.waits import MOST, MOST_OF_ONE, Waits
from rolecall.sql import roles
from rolecall.sql.statement import Statement
from tests.service.live.watching import enqueue
from tests.web.doors import Door

LONG = 30.0
Sql = psycopg.AsyncConnection[Any]


@pytest.fixture
async def sql(database: str) -> AsyncIterator[Sql]:
    """A session with the database, in which a role is declared."""
    async with await connect_async(database, "other") as connection:
        await run_async(connection, roles.declare([{"name": "sums"}], [{"name": "add", "role": "sums"}]))
        yield connection


class Counted:
    """A database that counts its queries and answers, or does not answer."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql
        self.requests: list[tuple[object, ...]] = []
        self.asking = self.most_at_once = 0
        self.is_away = False

    async def run(self, statement: Statement[Any]) -> Any:
        if self.is_away:
            raise DatabaseUnavailable("it is away")
        self.asking += 1
        self.most_at_once = max(self.most_at_once, self.asking)
        answer = await run_async(self._sql, statement)
        self.asking -= 1
        self.requests.append(statement.params)
        return answer

    async def has_been_asked(self, times: int) -> None:
        before = len(self.requests)
        async with asyncio.timeout(LONG):
            while len(self.requests) < before + times:
                await asyncio.sleep(0.01)


@pytest.fixture
def database_of(sql: Sql) -> Counted:
    return Counted(sql)


@pytest.fixture
async def waits(database_of: Counted) -> AsyncIterator[Waits]:
    waits = Waits(database_of)  # type: ignore[arg-type]  # it is only ever requests
    yield waits
    await waits.close()


@asynccontextmanager
async def waiting(waits: Waits, ids: list[int], caller: str | None = None) -> AsyncIterator[list[asyncio.Task[None]]]:
    tasks = [asyncio.create_task(waits.for_task(task_id, LONG, caller)) for task_id in ids]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_any_number_of_waiting_callers_share_one_query(waits: Waits, database_of: Counted, sql: Sql) -> None:
    ids = await enqueue(sql, "add", 100)
    async with waiting(waits, ids) as tasks:
        await database_of.has_been_asked(2)

        assert database_of.requests[-1] == (sorted(ids),)
        await sql.execute("select rolecall.complete_task(%s)", [ids[7]])
        async with asyncio.timeout(LONG):
            await tasks[7]
        assert sum(task.done() for task in tasks) == 1
        assert database_of.most_at_once == 1


async def test_nothing_is_queried_while_nobody_waits(waits: Waits, database_of: Counted, sql: Sql) -> None:
    [task_id] = await enqueue(sql)
    async with waiting(waits, [task_id]):
        await database_of.has_been_asked(1)
    looking = waits._query_task
    assert looking is not None
    async with asyncio.timeout(LONG):
        await asyncio.wait({looking})
    requests = len(database_of.requests)

    async with waiting(waits, [task_id]):
        await database_of.has_been_asked(1)

    assert len(database_of.requests) > requests


async def test_wait_for_a_chain_lasts_until_its_last_task_has_finished(
    waits: Waits, database_of: Counted, sql: Sql
) -> None:
    [first] = await enqueue(sql)
    ended = asyncio.create_task(waits.for_chain(first, LONG, None))
    await sql.execute("""select rolecall.complete_task(%s, null, '{"continuation": {"handler": "add"}}')""", [first])
    await database_of.has_been_asked(2)
    assert not ended.done()

    await sql.execute("select rolecall.complete_chain(%s)", [first])

    async with asyncio.timeout(LONG):
        await ended


async def test_query_error_reaches_every_waiting_caller(waits: Waits, database_of: Counted, sql: Sql) -> None:
    ids = await enqueue(sql, "add", 2)
    async with waiting(waits, ids) as tasks:
        await database_of.has_been_asked(1)
        database_of.is_away = True
        async with asyncio.timeout(LONG):
            ends = await asyncio.gather(*tasks, return_exceptions=True)

    assert [type(end) for end in ends] == [DatabaseUnavailable] * 2


async def test_caller_has_a_limit_of_waits_and_leaves_the_rest_to_others(
    waits: Waits, database_of: Counted, sql: Sql
) -> None:
    [task_id] = await enqueue(sql)
    async with waiting(waits, [task_id] * MOST_OF_ONE, "ada"):
        await database_of.has_been_asked(1)
        with pytest.raises(TooManyRequests, match="20 of your requests"):
            await waits.for_task(task_id, 0.01, "ada")
        await waits.for_task(task_id, 0.01, "bob")
        await waits.for_task(task_id, 0.01, None)

    await waits.for_task(task_id, 0.01, "ada")


async def test_all_callers_together_have_a_limit_of_waits(waits: Waits, database_of: Counted, sql: Sql) -> None:
    [task_id] = await enqueue(sql)
    async with waiting(waits, [task_id] * MOST):
        await database_of.has_been_asked(1)
        with pytest.raises(TooManyRequests, match="500 requests are already waiting"):
            await waits.for_task(task_id, 0.01, None)

    await waits.for_task(task_id, 0.01, None)


async def test_wait_limit_over_http_applies_to_readers_and_not_to_admins(door: Door, sql: Sql) -> None:
    [task_id] = await enqueue(sql)
    reader, admin = await door.key(Scope.READ), await door.key(Scope.ADMIN)

    async def wait(headers: dict[str, str], seconds: float) -> httpx2.Response:
        return await door.client.get(f"/api/tasks/{task_id}/wait?seconds={seconds}", headers=headers, timeout=LONG)

    answers = [asyncio.create_task(wait(reader, 30)) for _ in range(MOST_OF_ONE + 1)]
    [refused], _ = await asyncio.wait(answers, return_when=asyncio.FIRST_COMPLETED, timeout=LONG)
    others = await wait(admin, 0.01)
    await sql.execute("select rolecall.complete_task(%s)", [task_id])
    ended = [answer.status_code for answer in await asyncio.gather(*answers)]

    assert refused.result().status_code == 429
    assert (others.status_code, others.json()["state"]) == (200, "pending")
    assert sorted(ended) == [200] * MOST_OF_ONE + [429]
