"""Counts by role and state."""

from __future__ import annotations

from tests.sql.engine import Engine


def test_every_role_and_state_is_counted(engine: Engine) -> None:
    engine.declare({"name": "other"}, handlers=[{"name": "h", "role": "work"}])
    engine.enqueue_many([{"role": "work"}] * 3 + [{"handler": "h"}, {"role": "other", "after": 60}])
    first, second, third = engine.claim(3)
    engine.complete(first)
    engine.fail(second, final=True)
    engine.cancel(engine.enqueue())

    assert engine.rows("select * from rolecall.counts()") == [
        ("other", "pending", 1),
        ("work", "pending", 1),
        ("work", "running", 1),
        ("work", "completed", 1),
        ("work", "failed", 1),
        ("work", "cancelled", 1),
    ]
    assert engine.task(third.id).state == "running"


def test_empty_pool_has_no_counts(engine: Engine) -> None:
    assert engine.rows("select * from rolecall.counts()") == []
