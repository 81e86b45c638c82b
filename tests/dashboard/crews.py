"""Registered workers for the tests of pages, with slots, loads and tasks."""

from __future__ import annotations

from psycopg.types.json import Jsonb

from tests.sql.engine import Engine


def join(
    pool: Engine, name: str, *roles: str, slots: int = 4, pod: str | None = None, running: int = 0, **condition: object
) -> int:
    """Register a worker, claim and start this many tasks for it, and report its load; return its id."""
    worker_id: int = pool.value(
        "select rolecall.register_worker(%s, %s, %s, %s, 'host-1', 4711, '0.9.1', %s, null)",
        name,
        list(roles),
        pool.handlers(),
        slots,
        pod,
    )
    if running:
        claims = pool.claim(running, *roles, worker=worker_id)
        pool.start(*claims)
    beat(pool, worker_id, running, **condition)
    return worker_id


def beat(pool: Engine, worker_id: int, held: int = 0, **condition: object) -> None:
    """Send a heartbeat with the worker's load."""
    idle = held == 0 and not condition.get("backing_off")
    pool.rows("select rolecall.beat(%s, %s, %s, %s)", worker_id, held, idle, Jsonb(condition))
