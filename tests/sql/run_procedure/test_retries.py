"""Deadlocks and serialization failures are retried within the attempt."""

from __future__ import annotations

import pytest

from tests.sql.engine import Engine
from tests.sql.procedures import NEVER, handler, run_one

# A sequence counts the tries, because its numbers are not rolled back.
TRY = "perform nextval('shop.tries');"


@pytest.fixture
def tries(engine: Engine) -> Engine:
    engine.rows("create schema shop")
    engine.rows("create sequence shop.tries")
    return engine


def tried(engine: Engine) -> int:
    number: int = engine.value("select last_value from shop.tries")
    return number


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("deadlock_detected", "Deadlock detected after 3 retries"),
        ("serialization_failure", "Serialization failure after 3 retries"),
    ],
)
def test_after_three_retries_the_attempt_fails(tries: Engine, code: str, told: str) -> None:
    handler(tries, f"{TRY} raise {code};", retry=NEVER)

    task_id, end = run_one(tries)

    assert (end.error or "").partition("\n")[0] == told
    assert tries.task(task_id).state == "failed"
    assert (tries.task(task_id).attempt, tried(tries)) == (1, 4)


def test_one_that_ends_well_in_time_is_no_failure(tries: Engine) -> None:
    handler(tries, f"{TRY} if (select last_value from shop.tries) < 3 then raise deadlock_detected; end if;")

    task_id, end = run_one(tries)

    assert end.error is None
    assert (tries.task(task_id).state, tried(tries)) == ("completed", 3)


def test_other_errors_are_not_tried_again_inside_the_attempt(tries: Engine) -> None:
    handler(tries, f"{TRY} raise lock_not_available;", retry=NEVER)

    run_one(tries)

    assert tried(tries) == 1


def test_the_pauses_between_the_tries_double(tries: Engine) -> None:
    handler(tries, f"{TRY} raise deadlock_detected;")
    began = tries.value("select clock_timestamp()")

    run_one(tries)

    lasted = (tries.value("select clock_timestamp()") - began).total_seconds()
    assert lasted >= 0.1 + 0.2 + 0.4
