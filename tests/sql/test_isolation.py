"""REPEATABLE READ and SERIALIZABLE are rejected: a call would not see tasks parked after its snapshot and would
leave them parked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.sql.engine import Engine
from tests.sql.refusals import refused

LEVELS = ("repeatable read", "serializable")
CALLS = (
    "claim(1, '{}', '{work}', 1)",
    "finish(1, '[]')",
    "complete_task(1)",
    "cancel('{1}')",
    "retry('{1}')",
    "release(1, '{1}', '{1}')",
    "rescue()",
    "spawn(1, '[]')",
    "trigger('{1}')",
    "delete_chains('{1}')",
    "deregister_worker(1)",
    "fire_schedules()",
)
# A task that fails while it is stored, because its need has failed, has never held a key.
STORES_ONLY = {"enqueue", "enqueue_owned", "trigger_schedule"}
CALLED = re.compile(r"\brolecall\.(\w+)\(")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("call", CALLS)
def test_call_that_can_free_a_key_is_rejected_at_other_isolation_levels(engine: Engine, level: str, call: str) -> None:
    engine.rows(f"begin isolation level {level}")

    with refused("RC050", level):
        engine.rows(f"select * from rolecall.{call}")
    engine.rows("rollback")


@pytest.mark.parametrize("level", LEVELS)
def test_task_can_be_enqueued_at_any_isolation_level(engine: Engine, level: str) -> None:
    engine.rows(f"begin isolation level {level}")
    task_id = engine.enqueue()
    engine.rows("commit")

    assert engine.state(task_id) == "pending"


def test_every_function_that_frees_keys_requires_read_committed(engine: Engine) -> None:
    """This includes functions that are added later."""
    bodies = dict(engine.rows("select proname, prosrc from pg_proc where pronamespace = 'rolecall'::regnamespace"))
    callees = {name: {callee for callee in CALLED.findall(body) if callee in bodies} for name, body in bodies.items()}

    def unguarded(name: str) -> Iterator[str]:
        """Yield the functions that reach `name` without checking the isolation level."""
        for caller, called in callees.items():
            if name in called and "require_read_committed" not in called and caller not in seen:
                seen.add(caller)
                yield caller
                yield from unguarded(caller)

    seen: set[str] = set()
    list(unguarded("unpark_heads"))
    entries = {name for name in seen if not any(name in called for called in callees.values())}

    assert entries == STORES_ONLY
