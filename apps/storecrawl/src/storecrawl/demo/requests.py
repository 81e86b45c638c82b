"""What a demo asks of the pool of tasks."""

from __future__ import annotations

from psycopg.rows import scalar_row

from rolecall import App, Client, Enqueued
from storecrawl.demo.database import Connection

DEDUPE_KEY = "demo"
FAILED = "select id from rolecall.all_tasks where state = 'failed' and role = any(%s)"


def enqueue(connection: Connection, *, app: App, handler: str) -> Enqueued:
    """Enqueue a handler's task; while a demo's earlier one is open, that one stands for it."""
    with Client(app=app) as client:
        return client.enqueue(handler, dedupe_key=DEDUPE_KEY, connection=connection)


def retry_failed(connection: Connection, *, app: App) -> dict[int, str]:
    """Give every task of the app that failed for good another chance."""
    failed = connection.cursor(row_factory=scalar_row).execute(FAILED, (list(app.roles),)).fetchall()
    with Client(app=app) as client:
        return client.retry(failed, connection=connection)
