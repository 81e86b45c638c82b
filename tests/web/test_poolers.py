"""The API behind a real PgBouncer in transaction mode, and with another default isolation level."""

from __future__ import annotations

import logging
from typing import Any

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from rolecall import App
from rolecall.db.connect import connect_async
from rolecall.db.run import run, run_async
from rolecall.sql import roles
from tests.servers import Bouncer
from tests.service.live.watching import enqueue
from tests.web.doors import unguarded
from tests.web.streaming import served


async def test_streams_report_changes_behind_a_pooler(
    database: str, pgbouncer: Bouncer, caplog: pytest.LogCaptureFixture
) -> None:
    application = unguarded(pgbouncer.through(database), App("test"))
    async with served(application) as site, await connect_async(database, "other") as sql:
        await run_async(sql, roles.declare([{"name": "sums"}], [{"name": "add", "role": "sums"}]))
        for _ in range(3):
            async with site.events() as events:
                await events.until(lambda event: event.name == "connected")
                [task_id] = await enqueue(sql)
                await events.change_of(task_id, "pending")

    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.parametrize("pooled", [False, True], ids=["direct", "pooled"])
async def test_requests_work_where_transactions_default_to_serializable(
    database: str, pgbouncer: Bouncer, connection: psycopg.Connection[Any], pooled: bool
) -> None:
    name = Identifier(connection.info.dbname)
    connection.execute(SQL("alter database {} set default_transaction_isolation = 'serializable'").format(name))
    run(connection, roles.declare([{"name": "sums"}], [{"name": "add", "role": "sums"}]))
    application = unguarded(pgbouncer.through(database) if pooled else database, App("test"))

    async with served(application) as site:
        stored = (await site.client.post("/api/tasks", json={"handler": "add"})).json()
        ended = await site.client.post(f"/api/tasks/{stored['id']}/complete", json={})

    assert ended.status_code == 200, ended.text
