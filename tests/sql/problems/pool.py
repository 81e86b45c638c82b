"""A pool with a history, and its problems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psycopg.types.json import Jsonb

from tests.sql.engine import Engine
from tests.sql.history.test_roll_up import roll_up

COLUMNS = "kind, roles, handlers, workers, number, since, figures"


def problems(engine: Engine) -> list[dict[str, Any]]:
    rows = engine.rows(f"select {COLUMNS} from rolecall.problems()")
    return [dict(zip(COLUMNS.split(", "), row, strict=True)) for row in rows]


def kinds(engine: Engine) -> list[str]:
    return [problem["kind"] for problem in problems(engine)]


def found(engine: Engine, **words: object) -> list[int]:
    """Return the ids of the tasks that match a filter, oldest first."""
    return sorted(engine.value("select ids from rolecall.find_tasks(%s, null, 10000)", Jsonb(words)))


def finish(engine: Engine, worker: int, number: int, outcome: str = "completed", **words: object) -> list[int]:
    """Finish this many new tasks of a role, each after a second of waiting and a second of running."""
    ids, _ = engine.enqueue_many([{"role": "work", "max_attempts": 1, **words}] * number)
    engine.clock.advance(seconds=1)
    claims = engine.claim(number, worker=worker)
    engine.clock.advance(seconds=1)
    engine.finish(
        worker,
        *({"id": each.id, "fence": each.fence, "outcome": outcome, "error": "KeyError: 'price'"} for each in claims),
    )
    return ids


def pass_time(engine: Engine, seconds: int, workers: Sequence[int]) -> None:
    """Let time pass while workers send heartbeats and the history is written."""
    for _ in range(seconds // 10):
        engine.clock.advance(seconds=10)
        for worker in workers:
            engine.rows("select rolecall.beat(%s, 0, false)", worker)
        roll_up(engine)
