"""The cost of plain tasks in buffers and bytes of WAL, which do not depend on the machine's load.

Each limit is a seventh above the measurement (docs/decisions/0047). If a change permanently stays below a limit,
lower it.
"""

from __future__ import annotations

from psycopg.types.json import Jsonb

from tests.sql.engine import Engine

BATCH = 500
ENQUEUE = "select from rolecall.enqueue_many(%s)"
CLAIM = f"select * from rolecall.claim(1, '{{}}', '{{work}}', {BATCH}, 10)"
FINISH = "select * from rolecall.finish_free(1, %s)"
DRAFTS = Jsonb([{"role": "work", "payload": {"i": 1}}] * BATCH)
ONE_DRAFT = Jsonb([{"role": "work", "payload": {"i": 1}}])
TRIES = 10
# Bytes of WAL and buffers per task.
MOST_OF_ONE = (392, 19)
MOST = {"enqueue": (400, 13), "claim": (385, 13), "finish": (345, 14)}


def cost(engine: Engine, query: str, *parameters: object, tasks: int = BATCH) -> tuple[float, float]:
    """Return the bytes of WAL and the buffers of a call, per task."""
    [plan] = engine.value(f"explain (analyze, wal, buffers, format json) {query}", *parameters)
    node = plan["Plan"]
    return node["WAL Bytes"] / tasks, (node["Shared Hit Blocks"] + node["Shared Read Blocks"]) / tasks


def costs_of_a_batch(engine: Engine) -> dict[str, tuple[float, float]]:
    stored = cost(engine, ENQUEUE, DRAFTS)
    with engine.connection.transaction(force_rollback=True):
        claimed = cost(engine, CLAIM)
    claims = engine.rows(CLAIM)
    assert len(claims) == BATCH
    reports = [{"id": claim[0], "fence": claim[1], "outcome": "completed", "ran": 0.01} for claim in claims]
    return {"enqueue": stored, "claim": claimed, "finish": cost(engine, FINISH, Jsonb(reports))}


def test_plain_tasks_stay_within_their_cost_limits(engine: Engine) -> None:
    """The minimum of several batches counts: after a checkpoint, the first change of a page logs all of it."""
    engine.rows("alter table rolecall.tasks set (autovacuum_enabled = off)")

    batches = [costs_of_a_batch(engine) for _ in range(TRIES)]

    for call, (most_bytes, most_buffers) in MOST.items():
        assert min(batch[call][0] for batch in batches) <= most_bytes, (call, batches)
        assert min(batch[call][1] for batch in batches) <= most_buffers, (call, batches)


def test_enqueuing_one_task_stays_within_its_cost_limits(engine: Engine) -> None:
    """The first calls also read catalogs and create the line."""
    costs = [cost(engine, ENQUEUE, ONE_DRAFT, tasks=1) for _ in range(30)]

    assert min(size for size, _ in costs) <= MOST_OF_ONE[0], costs
    assert min(buffers for _, buffers in costs) <= MOST_OF_ONE[1], costs
