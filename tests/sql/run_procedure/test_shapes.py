"""SQL handlers that take only the payload, and hooks without arguments, are called with their own signature."""

from __future__ import annotations

import pytest

from tests.sql.engine import Engine
from tests.sql.procedures import (
    COUNT,
    NEVER,
    counted,
    declare,
    handler,
    hook,
    procedure,
    process,
    run_one,
    silent_hook,
    table,
)


@pytest.fixture
def plain(engine: Engine) -> Engine:
    """The engine with a handler `count` that takes only the payload."""
    table(engine)
    hook(engine, "count", COUNT)
    declare(engine, retry=NEVER)
    return engine


def test_a_procedure_that_takes_the_payload_alone_runs(plain: Engine) -> None:
    task_id, end = run_one(plain, payload={"n": 7})

    assert (end.lost, end.error) == (None, None)
    assert (plain.task(task_id).state, plain.task(task_id).info, counted(plain)) == ("completed", None, [7])


def test_an_error_of_it_undoes_the_work_and_is_told_without_our_frames(plain: Engine) -> None:
    hook(plain, "count", f"{COUNT} raise exception 'no such store';")

    task_id, end = run_one(plain, payload={"n": 7})

    assert (plain.task(task_id).state, counted(plain)) == ("failed", [])
    assert (end.error or "").split("\n")[-1] == 'SQL statement "call shop.count($1)"'


def test_a_drain_calls_it_too(plain: Engine) -> None:
    plain.enqueue(handler="count", payload={"n": 7})

    process(plain, role="work")

    assert counted(plain) == [7]


def test_a_second_procedure_of_the_name_fails_the_task_and_says_so(plain: Engine) -> None:
    """It was created after the declaration. The choice between the two is ambiguous."""
    procedure(plain, "count", COUNT)

    task_id, end = run_one(plain, payload={"n": 7})

    assert "shop.count is ambiguous" in (end.error or "")
    assert (plain.task(task_id).state, counted(plain)) == ("failed", [])


def test_a_hook_that_takes_nothing_is_called_with_nothing(engine: Engine) -> None:
    table(engine)
    silent_hook(engine, "ring", "insert into shop.counted values (rolecall.current_task());")
    handler(engine, "null;", before="shop.ring", after="shop.ring")

    task_id, _ = run_one(engine)

    assert counted(engine) == [task_id, task_id]
