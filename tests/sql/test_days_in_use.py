"""A call locks the days that it reads until its commit: a few for recent tasks, however many days are kept."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.sql.engine import Claim, Engine, report

MONTH = 30
Call = Callable[[Engine, Claim], object]


def finish(engine: Engine, claim: Claim, outcome: str = "completed", **words: object) -> None:
    engine.rows("select rolecall.finish(%s, %s)", claim.worker_id, json.dumps([report(claim, outcome, **words)]))


def report_late(engine: Engine, claim: Claim) -> None:
    finish(engine, claim)
    finish(engine, claim)


def renew_late(engine: Engine, claim: Claim) -> None:
    finish(engine, claim)
    engine.renew(claim)


def need_what_is_open(engine: Engine, claim: Claim) -> None:
    engine.enqueue(needs=[claim.id])


def need_what_has_ended(engine: Engine, claim: Claim) -> None:
    finish(engine, claim)
    engine.enqueue(needs=[claim.id])


def end_the_last_child(engine: Engine, claim: Claim) -> None:
    finish(engine, claim, next={"children": [{"role": "work"}]})
    finish(engine, engine.claim_one())


def ask_for_a_window(engine: Engine, _claim: Claim) -> None:
    engine.enqueue(dedupe_key="d", dedupe={"scope": "any", "window": 60})


CALLS: dict[str, Call] = {
    "a completed task": finish,
    "one with a follow-up": lambda engine, claim: finish(engine, claim, next={"follow_ups": [{"role": "work"}]}),
    "one whose chain goes on": lambda engine, claim: finish(engine, claim, next={"continuation": {"role": "work"}}),
    "a failed task": lambda engine, claim: finish(engine, claim, "failed", error="x", final=True),
    "a late report": report_late,
    "a lost renewal": renew_late,
    "a task that needs an open one": need_what_is_open,
    "a task that needs one that has ended": need_what_has_ended,
    "the last child of a parent": end_the_last_child,
    "a cancellation": lambda engine, claim: engine.rows("select rolecall.cancel(%s)", [claim.id]),
    "a task with a window": ask_for_a_window,
}


def locks(engine: Engine, call: Call) -> int:
    """Return the number of relations that a call locks, in a session with cached plans."""
    numbers: list[int] = []
    for _ in range(2):
        engine.enqueue()
        claim = engine.claim_one()
        engine.rows("begin")
        call(engine, claim)
        query = "select count(*) from pg_locks where pid = pg_backend_pid() and locktype = 'relation'"
        numbers.append(engine.value(query))
        engine.rows("rollback")
        engine.release(claim)
        engine.cancel(claim.id)
    return min(numbers)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_call_takes_no_more_locks_with_a_month_of_partitions(engine: Engine, call: Call) -> None:
    engine.rows("select rolecall.make_partitions()")
    before = locks(engine, call)

    for day in range(1, MONTH + 1):
        moment = "(rolecall.clock() at time zone 'utc')::date - %s::int"
        engine.rows(f"select rolecall.make_partition('finished_tasks', 'finished_at', {moment})", day)

    # The days before and after today can be new.
    assert locks(engine, call) <= before + 2 * 10
