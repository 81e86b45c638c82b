"""A handler that overrides its retry policy."""

from __future__ import annotations

import psycopg

from rolecall import App, Client, PermanentFailure
from rolecall.testing import drain


async def test_permanent_failure_is_not_retried(database: str, connection: psycopg.Connection) -> None:
    app = App("test")

    @app.task
    async def parse(document: str) -> None:
        raise PermanentFailure(f"{document!r} will never be a number")

    with Client(database, app=app) as client:
        client.enqueue(parse.task(document="x"))
    await drain(app, database)

    row = connection.execute("select state::text, attempt, error from rolecall.all_tasks").fetchone()
    assert row is not None
    assert row[:2] == ("failed", 1)
    assert "'x' will never be a number" in row[2]


async def test_permanent_failure_without_a_message_stores_its_cause(
    database: str, connection: psycopg.Connection
) -> None:
    app = App("test")

    @app.task
    async def parse(document: str) -> int:
        try:
            return int(document)
        except ValueError as error:
            raise PermanentFailure from error

    with Client(database, app=app) as client:
        client.enqueue(parse.task(document="x"))
    await drain(app, database)

    row = connection.execute("select attempt, error from rolecall.all_tasks").fetchone()
    assert row is not None
    assert row[0] == 1
    assert row[1].startswith("ValueError: invalid literal for int()")
