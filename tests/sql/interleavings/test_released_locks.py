"""Calls that wait for a row release their own locks, so that two calls cannot wait for each other."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.sql.conftest import Session
from tests.sql.engine import Claim, Engine, report
from tests.sql.procedures import handler, hook

Call = Callable[[Engine], object]

DEADLINE = 20.0


def plain(engine: Engine) -> tuple[int, int]:
    low, high = engine.enqueue_many([{"role": "work"}] * 2)[0]
    return low, high


def claimed(engine: Engine) -> tuple[Claim, Claim]:
    plain(engine)
    low, high = engine.claim(2, worker=1)
    return low, high


def family(engine: Engine) -> tuple[int, int]:
    """Let a task wait for one child; return child and parent."""
    parent = engine.enqueue()
    engine.complete(engine.claim_one(), next={"children": [{"role": "work"}]})
    [child] = engine.children(parent)
    return child.id, parent


def a_finish(engine: Engine) -> tuple[int, int, Call]:
    low, high = claimed(engine)
    return low.id, high.id, lambda other: other.finish(1, report(low, "completed"), report(high, "completed"))


def a_cancellation(engine: Engine) -> tuple[int, int, Call]:
    low, high = plain(engine)
    return low, high, lambda other: other.cancel(low, high)


def a_retry(engine: Engine) -> tuple[int, int, Call]:
    _, parent = family(engine)
    needed = engine.enqueue()
    [child] = engine.spawn(parent, {"role": "work", "needs": [needed], "on_failure": "ignore"})
    engine.cancel(child)
    return needed, parent, lambda other: other.retry(child)


def children_from_outside(engine: Engine) -> tuple[int, int, Call]:
    _, parent = family(engine)
    needed = engine.enqueue()
    return needed, parent, lambda other: other.spawn(parent, {"role": "work", "needs": [needed]})


def a_task_with_needs(engine: Engine) -> tuple[int, int, Call]:
    low, high = plain(engine)
    return low, high, lambda other: other.enqueue(needs=[low, high])


def an_end_from_outside(engine: Engine) -> tuple[int, int, Call]:
    low, high = plain(engine)
    ends = [{"id": task_id, "state": "completed"} for task_id in (low, high)]
    return low, high, lambda other: other.end(*ends)


def a_deletion(engine: Engine) -> tuple[int, int, Call]:
    low, high = plain(engine)
    return low, high, lambda other: other.delete_chains(low, high)


def a_held_chain(engine: Engine) -> tuple[int, int, Call]:
    child, parent = family(engine)
    return child, parent, lambda other: other.rows("select rolecall.hold_chain(%s)", parent)


def a_trigger(engine: Engine) -> tuple[int, int, Call]:
    low, high = plain(engine)
    return low, high, lambda other: other.rows("select * from rolecall.trigger(%s)", [low, high])


@pytest.mark.parametrize(
    "scene",
    [
        a_finish, a_cancellation, a_retry, children_from_outside, a_task_with_needs, an_end_from_outside, a_deletion, a_held_chain, a_trigger,
    ],
)  # fmt: skip
def test_session_that_waits_for_a_row_releases_its_other_rows(
    engine: Engine, session: Session, scene: Callable[[Engine], tuple[int, int, Call]]
) -> None:
    engine.worker()
    first, second, call = scene(engine)
    gate, caller, looker = session(), session(), session()
    caller.rows("set statement_timeout = '40s'")
    gate.rows("begin")
    hold(gate, second)
    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(call, caller)
        until_held(looker, first)
        looker.rows("set statement_timeout = '10s'")

        hold(looker, first)

        assert not answer.done()
        gate.rows("rollback")
        answer.result(timeout=DEADLINE)


def hold(engine: Engine, task_id: int) -> None:
    engine.rows("select from rolecall.tasks where id = %s for update", task_id)


def until_held(engine: Engine, task_id: int) -> None:
    """Wait until another session has locked the row."""
    deadline = time.monotonic() + DEADLINE
    while engine.rows("select from rolecall.tasks where id = %s for update skip locked", task_id):
        assert time.monotonic() < deadline, "no other session has locked the row"
        time.sleep(0.001)


def test_lock_timeout_of_the_caller_is_restored_after_the_call(engine: Engine) -> None:
    engine.rows("set lock_timeout = '7s'")
    engine.enqueue()

    engine.complete(engine.claim_one())

    assert engine.value("show lock_timeout") == "7s"


def test_hook_runs_with_the_lock_timeout_of_its_session(engine: Engine) -> None:
    engine.rows("create schema shop")
    engine.rows("create table shop.seen (patience text)")
    hook(engine, "look", "insert into shop.seen values (current_setting('lock_timeout'));")
    handler(engine, "null;", after="shop.look")
    task_id = engine.enqueue(handler="count")

    engine.complete_task(task_id)

    assert engine.rows("select patience from shop.seen") == [("0",)]


def test_error_of_the_call_itself_is_raised_unchanged(engine: Engine) -> None:
    with pytest.raises(psycopg.Error) as refusal:
        engine.spawn(12345, {"role": "work"})

    assert refusal.value.sqlstate == "RC044"
