"""The log lines of a task, in the client."""

from __future__ import annotations

import logging

import pytest

from rolecall import App, AsyncClient, Client, Context, TaskNotFound
from rolecall.testing import drain

pytestmark = pytest.mark.usefixtures("database")


def make_app() -> App:
    app = App("shop")

    @app.task
    async def charge(ctx: Context) -> None:
        logging.getLogger("shop.till").warning("opened")
        ctx.log.error("closed")

    return app


async def test_lines_are_read_by_the_async_client(database: str) -> None:
    app = make_app()
    async with AsyncClient(database, app=app) as client:
        task = await client.enqueue("charge")
        await drain(app, database)

        assert [line.message for line in await client.logs(task)] == ["opened", "closed"]
        assert [line.message for line in await client.logs(task.id, level="error")] == ["closed"]
        assert await client.logs(task, attempt=2) == []
        with pytest.raises(TaskNotFound):
            await client.logs(99)


async def test_sync_client_reads_the_same_lines(database: str) -> None:
    app = make_app()
    with Client(database, app=app) as client:
        task = client.enqueue("charge")
        await drain(app, database)

        assert [line.logger for line in client.logs(task)] == ["shop.till", "rolecall.task"]
