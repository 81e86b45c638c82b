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


def test_procedure_that_takes_only_the_payload_runs(plain: Engine) -> None:
    task_id, end = run_one(plain, payload={"n": 7})

    assert (end.lost, end.error) == (None, None)
    assert (plain.task(task_id).state, plain.task(task_id).info, counted(plain)) == ("completed", None, [7])


def test_error_rolls_back_the_work_and_is_stored_without_engine_frames(plain: Engine) -> None:
    hook(plain, "count", f"{COUNT} raise exception 'no such store';")

    task_id, end = run_one(plain, payload={"n": 7})

    assert (plain.task(task_id).state, counted(plain)) == ("failed", [])
    assert (end.error or "").split("\n")[-1] == 'SQL statement "call shop.count($1)"'


def test_drain_calls_the_procedure(plain: Engine) -> None:
    plain.enqueue(handler="count", payload={"n": 7})

    process(plain, role="work")

    assert counted(plain) == [7]


def test_second_procedure_with_the_same_name_fails_the_task(plain: Engine) -> None:
    """It was created after the declaration. The choice between the two is ambiguous."""
    procedure(plain, "count", COUNT)

    task_id, end = run_one(plain, payload={"n": 7})

    assert "shop.count is ambiguous" in (end.error or "")
    assert (plain.task(task_id).state, counted(plain)) == ("failed", [])


def test_hook_without_arguments_is_called_without_arguments(engine: Engine) -> None:
    table(engine)
    silent_hook(engine, "ring", "insert into shop.counted values (rolecall.current_task());")
    handler(engine, "null;", before="shop.ring", after="shop.ring")

    task_id, _ = run_one(engine)

    assert counted(engine) == [task_id, task_id]
