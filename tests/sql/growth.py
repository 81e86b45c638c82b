"""Fills the pool by bulk SQL with rows that must not affect claim and finish, and counts the buffers of both."""

from __future__ import annotations

import json

from tests.sql.costs import buffers
from tests.sql.engine import Engine

BATCH = 20
LINE = "(select min(line.id) from rolecall.lines as line where line.role = 'work' and line.handler = 'work')"
NEXT_ID = "nextval(pg_get_serial_sequence('rolecall.tasks', 'id'))"
CLAIM = f"select * from rolecall.claim(1, '{{}}', '{{work}}', {BATCH}, {BATCH})"
FINISH = "select * from rolecall.finish_free(1, %s)"
HELD = "select id, fence from rolecall.tasks where worker_id = 1 and state = 'running'"
PENDING = """
insert into rolecall.tasks (id, chain_id, created_at, scheduled_for, line_id, payload, key, parked)
select id, id, rolecall.clock(), rolecall.clock() + {wait}, {line}, '{{"i": 1}}', {key}, {parked}
from (select {next_id} as id, n from generate_series(1, %s::bigint) as n offset 0) as made
"""
FINISHED = f"""
insert into rolecall.finished_tasks (
    id, chain_id, created_at, scheduled_for, claimed_at, started_at, finished_at, worker_id, line_id, chain_index, fence,
    attempt, state, payload
)
select id, id, at, at, at, at, at, 1, {LINE}, 0, 1, 1, 'completed', '{{"i": 1}}'
from (select {NEXT_ID} as id, rolecall.clock() as at from generate_series(1, %s::bigint) offset 0) as made
"""
KEYS = (
    "insert into rolecall.keys (key) select 'key ' || n from generate_series(1, %s::bigint) as n on conflict do nothing"
)
ROLES = "insert into rolecall.roles (name) select 'role-' || n from generate_series(1, %s::bigint) as n on conflict do nothing"
HANDLERS = """
insert into rolecall.handlers (name, role)
select name, name from rolecall.roles where name like 'role-%%' and %s::bigint > 0 on conflict do nothing
"""
LINES = """
insert into rolecall.lines (role, handler, priority)
select name, name, 0 from rolecall.roles where name like 'role-%%' and %s::bigint > 0 on conflict do nothing
"""
WORK_OF_LINES = f"""
insert into rolecall.tasks (id, chain_id, created_at, scheduled_for, line_id, payload)
select id, id, rolecall.clock(), rolecall.clock(), line_id, '{{"i": 1}}'
from (
    select {NEXT_ID} as id, line.id as line_id from rolecall.lines as line
    where line.role like 'role-%%' and %s::bigint > 0 offset 0
) as made
"""
# The statements of each kind, which take the number of rows.
FILLS = {
    "finished": [FINISHED],
    "pending": [PENDING.format(wait="interval '0 s'", line=LINE, key="null", parked="false", next_id=NEXT_ID)],
    "lines": [ROLES, HANDLERS, LINES, WORK_OF_LINES],
    "keys": [
        KEYS,
        PENDING.format(wait="interval '1 min'", line=LINE, key="'key ' || n", parked="false", next_id=NEXT_ID),
    ],
    # They come first in their line, so that a scan that read them would read them first.
    "parked": [
        KEYS,
        PENDING.format(
            wait="interval '-1 min'", line=LINE, key="'key ' || n %% 100 + 1", parked="true", next_id=NEXT_ID
        ),
    ],
}


def fill(engine: Engine, kind: str, number: int) -> None:
    """Add rows of a kind, and update the planner's statistics."""
    engine.rows("select rolecall.make_partitions()")
    enqueue(engine)
    for query in FILLS[kind]:
        engine.rows(query, number)
    engine.rows("delete from rolecall.tasks where payload = '{}'")
    engine.rows("vacuum analyze rolecall.tasks, rolecall.finished_tasks, rolecall.keys, rolecall.lines, rolecall.roles")


def costs(engine: Engine, *, keyed: bool) -> tuple[int, int]:
    """Return the buffers of a claim of a batch and of its finish; each task has its own key, or none."""
    enqueue(engine, keyed=keyed)
    engine.forget_floors()
    claim = buffers(engine, CLAIM)
    held = engine.rows(HELD)
    assert len(held) == BATCH
    reports = [{"id": task_id, "fence": fence, "outcome": "completed", "ran": 0.01} for task_id, fence in held]
    finish = buffers(engine, FINISH, json.dumps(reports))
    engine.rows("delete from rolecall.tasks where payload = '{}'")
    return claim, finish


def enqueue(engine: Engine, *, keyed: bool = False) -> None:
    """Store a batch with a higher priority than other pending tasks."""
    drafts = [{"role": "work", "priority": 5, **({"key": f"mine {n}"} if keyed else {})} for n in range(BATCH)]
    engine.enqueue_many(drafts)
