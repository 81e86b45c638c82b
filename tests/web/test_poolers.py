"""Streams behind a real PgBouncer in transaction mode, which passes no notification on."""

from __future__ import annotations

import logging

import pytest

from rolecall import App
from rolecall.db.connect import connect_async
from rolecall.db.run import run_async
from rolecall.sql import roles
from rolecall.web import build
from tests.servers import Bouncer
from tests.service.live.watching import enqueue
from tests.web.streaming import served


async def test_streams_tell_what_changes(database: str, pgbouncer: Bouncer, caplog: pytest.LogCaptureFixture) -> None:
    """covers RELIABILITY F34"""
    application = build(pgbouncer.through(database), App("test"))
    async with served(application) as site, await connect_async(database, "other") as sql:
        await run_async(sql, roles.declare([{"name": "sums"}], [{"name": "add", "role": "sums"}]))
        for _ in range(3):
            async with site.events() as events:
                await events.until(lambda event: event.name == "connected")
                [task_id] = await enqueue(sql)
                await events.change_of(task_id, "pending")

    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []
