"""Changes that a demo makes to tasks."""

from __future__ import annotations

from psycopg.rows import scalar_row

from rolecall import App, Client, Enqueued
from storecrawl.demo.database import Connection

DEDUPE_KEY = "demo"
FAILED = "select id from rolecall.all_tasks where state = 'failed' and role = any(%s)"


def enqueue(connection: Connection, *, app: App, handler: str) -> Enqueued:
    """Enqueue a handler's task, unless an earlier one of the demo is open."""
    with Client(app=app) as client:
        return client.enqueue(handler, dedupe_key=DEDUPE_KEY, connection=connection)


def retry_failed(connection: Connection, *, app: App) -> dict[int, str]:
    """Retry all failed tasks of the app."""
    failed = connection.cursor(row_factory=scalar_row).execute(FAILED, (list(app.roles),)).fetchall()
    with Client(app=app) as client:
        return client.retry(failed, connection=connection)
