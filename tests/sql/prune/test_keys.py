"""Keys are deleted when they are unused, and never while they are in use."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from tests.sql.conftest import Session
from tests.sql.engine import Engine
from tests.sql.test_tables_in_use import until_waiting

DEADLINE = 20.0
GATE = 4711


def idle(engine: Engine, *keys: str) -> None:
    for key in keys:
        engine.enqueue(key=key)
        engine.complete(engine.claim_one())


def keys(engine: Engine) -> list[str]:
    return [key for (key,) in engine.rows("select key from rolecall.keys order by key")]


def prune_keys(engine: Engine, after: str | None = None, limit: int = 100) -> tuple[int, str | None]:
    [(number, place)] = engine.rows("select number, place from rolecall.prune_keys(%s, %s)", after, limit)
    return number, place


@pytest.fixture
def pruner(engine: Engine, session: Session) -> Iterator[Engine]:
    """A session that stops at the second check of a key, within a statement, until GATE is opened."""
    name = f"pruner_{uuid4().hex[:12]}"
    engine.rows(f"create role {name}; grant all on schema rolecall to {name}")
    engine.rows(f"grant all on all tables in schema rolecall to {name}")
    engine.rows("create sequence rolecall.looks")
    engine.rows(f"grant all on sequence rolecall.looks to {name}")
    engine.rows(
        "create function rolecall.gate() returns boolean language plpgsql volatile as $$ begin"
        f" if nextval('rolecall.looks') = 2 then perform pg_advisory_xact_lock({GATE}); end if; return true; end $$"
    )
    engine.rows("create policy gated on rolecall.keys using (rolecall.gate())")
    engine.rows("alter table rolecall.keys enable row level security")
    pruner = session()
    pruner.rows(f"set role {name}")
    yield pruner
    pruner.rows("reset role")
    engine.rows(f"drop owned by {name}; drop role {name}")


def test_key_taken_during_the_scan_is_kept(engine: Engine, session: Session, pruner: Engine) -> None:
    """The scan has found no user, but the key is taken and committed before it is locked."""
    idle(engine, "store:1")
    looker = session()
    engine.rows("select pg_advisory_lock(%s)", GATE)
    with ThreadPoolExecutor(1) as thread:
        pruned = thread.submit(prune_keys, pruner)
        until_waiting(looker, pruner, pruned)
        engine.enqueue(key="store:1")
        running = engine.claim_one()
        second = engine.enqueue(key="store:1")
        engine.rows("select pg_advisory_unlock(%s)", GATE)

        assert pruned.result(DEADLINE) == (0, None)

    assert keys(engine) == ["store:1"]
    assert looker.claim() == [], "its place is taken"
    engine.complete(running)
    assert engine.claim_one().id == second


def test_locked_key_is_skipped(engine: Engine, session: Session) -> None:
    idle(engine, "a", "b")
    holder = session()
    holder.rows("begin")
    holder.rows("select from rolecall.keys where key = 'a' for update")

    assert prune_keys(engine) == (1, None)
    holder.rows("commit")
    assert keys(engine) == ["a"]


def test_keys_are_scanned_in_order_up_to_the_limit(engine: Engine) -> None:
    """Keys in use do not block those behind them."""
    idle(engine, "a", "c", "d", "e")
    engine.enqueue(key="b")
    engine.claim_one()

    assert prune_keys(engine, limit=2) == (1, "b")
    assert prune_keys(engine, after="b", limit=2) == (2, "d")
    assert prune_keys(engine, after="d", limit=2) == (1, None)


def test_key_of_a_parked_task_is_kept(engine: Engine) -> None:
    engine.enqueue_many([{"role": "work", "key": "k"}] * 2)
    claim = engine.claim_one()
    assert engine.claim() == []
    engine.rows("update rolecall.tasks set key_slot = null, key = null where id = %s", claim.id)

    assert prune_keys(engine) == (0, None)
