"""The cost of a call in buffers, and the many tasks on which it must not depend."""

from __future__ import annotations

import json

from tests.sql.engine import Engine

TRIES = 3
# A scan of these tasks touches more than twice as many buffers as a cheap call.
MANY = 20_000
FEW_BUFFERS = 200
CLAIM = "select * from rolecall.claim(1, '{}', '{work,other}', 1)"


def fill(engine: Engine, number: int, **words: object) -> None:
    """Store many equal tasks in one call."""
    engine.rows(
        "select from rolecall.enqueue_many((select jsonb_agg(%s::jsonb) from generate_series(1, %s)))",
        json.dumps({"role": "work", **words}),
        number,
    )


def finish_all(engine: Engine, at_most: int = 10**9) -> None:
    """Complete all claimable tasks."""
    done = 0
    while done < at_most:
        claims = engine.rows("select id, fence from rolecall.claim(1, '{}', '{work,other}', 2000)")
        if not claims:
            break
        engine.finish(1, *({"id": task_id, "fence": fence, "outcome": "completed"} for task_id, fence in claims))
        done += len(claims)


def until_nobody_sees_what_died(engine: Engine) -> None:
    """Wait for all writing transactions of the server and for snapshots of autovacuum, which keep dead rows."""
    died_by = engine.value("select pg_current_xact_id()")
    question = (
        f"select pg_snapshot_xmin(pg_current_snapshot()) > '{died_by}'::xid8 and not exists (select from pg_stat_activity"
        " where datname = current_database() and pid <> pg_backend_pid() and backend_xmin is not null)"
    )
    # Each check is its own statement: within one, the session would keep its snapshot.
    while not engine.value(question):
        engine.rows("select pg_sleep(0.01)")


def buffers(engine: Engine, query: str, *parameters: object) -> int:
    """Return the number of buffers that a call touches: the minimum of several tries, of which the last takes effect.

    A session reads the catalog in its first calls and after invalidations, for example when tables are changed
    elsewhere. These reads touch thousands of buffers and are not a cost of the call.
    """
    undone = [_touched(engine, query, *parameters, undo=True) for _ in range(TRIES - 1)]
    return min(*undone, _touched(engine, query, *parameters, undo=False))


def _touched(engine: Engine, query: str, *parameters: object, undo: bool) -> int:
    with engine.connection.transaction(force_rollback=undo):
        [plan] = engine.value(f"explain (analyze, buffers, format json) {query}", *parameters)
    return int(plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"])


def assert_cheap(engine: Engine, query: str) -> None:
    """Measure several calls, because an occasional one also scans below the watermark of this session."""
    assert min(buffers(engine, query) for _ in range(5)) < FEW_BUFFERS
