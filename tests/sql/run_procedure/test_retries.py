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
    ("code", "expected"),
    [
        ("deadlock_detected", "Deadlock detected after 3 retries"),
        ("serialization_failure", "Serialization failure after 3 retries"),
    ],
)
def test_attempt_fails_after_three_internal_retries(tries: Engine, code: str, expected: str) -> None:
    handler(tries, f"{TRY} raise {code};", retry=NEVER)

    task_id, end = run_one(tries)

    assert (end.error or "").partition("\n")[0] == expected
    assert tries.task(task_id).state == "failed"
    assert (tries.task(task_id).attempt, tried(tries)) == (1, 4)


def test_internal_retry_that_succeeds_completes_the_task(tries: Engine) -> None:
    handler(tries, f"{TRY} if (select last_value from shop.tries) < 3 then raise deadlock_detected; end if;")

    task_id, end = run_one(tries)

    assert end.error is None
    assert (tries.task(task_id).state, tried(tries)) == ("completed", 3)


def test_other_errors_are_not_retried_within_the_attempt(tries: Engine) -> None:
    handler(tries, f"{TRY} raise lock_not_available;", retry=NEVER)

    run_one(tries)

    assert tried(tries) == 1


def test_delays_between_internal_retries_double(tries: Engine) -> None:
    handler(tries, f"{TRY} raise deadlock_detected;")
    began = tries.value("select clock_timestamp()")

    run_one(tries)

    lasted = (tries.value("select clock_timestamp()") - began).total_seconds()
    assert lasted >= 0.1 + 0.2 + 0.4
