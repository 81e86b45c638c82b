"""A maintenance duty runs in the first worker that polls, and again after its interval or on demand."""

from __future__ import annotations

import pytest

from rolecall.db.run import run
from rolecall.model.errors import DatabaseError
from rolecall.model.operator.doctor import DutyState
from rolecall.model.workers import DutyStatus
from rolecall.sql import doctor, duties
from rolecall.sql.statement import Statement, firsts, single
from tests.sql.conftest import Session
from tests.sql.engine import Engine

LATER = "update rolecall.duties set next_at = next_at - interval '{} s'"
# Forms of starting a duty: with the rows of a function, or with its value.
FORMS = {
    "rows": Statement(query="select n from nextval('done') as n", read=firsts),
    "a value": Statement(query="select nextval('done')", read=single),
}
FAILS: Statement[int] = Statement(query="select nextval('done') / 0", read=single)


@pytest.fixture(autouse=True)
def counter(engine: Engine) -> None:
    """Counts how often the duty ran."""
    engine.rows("create sequence done")


def times(engine: Engine) -> int:
    [[number]] = engine.rows("select last_value - (not is_called)::int from done")
    return int(number)


def look(engine: Engine, by: str = "a", name: str = "sweep") -> DutyStatus:
    return run(engine.connection, duties.read_status([name], by))


def begin(
    engine: Engine, by: str = "a", name: str = "sweep", what: Statement[int] = FORMS["a value"]
) -> tuple[object] | None:
    return run(engine.connection, duties.begin(what, name, 60.0, by))


@pytest.mark.parametrize("form", FORMS)
def test_second_process_does_not_start_the_duty(engine: Engine, form: str) -> None:
    assert begin(engine, "a", what=FORMS[form])
    assert begin(engine, "b", what=FORMS[form]) is None
    assert times(engine) == 1


def test_duty_is_due_again_after_its_interval(engine: Engine) -> None:
    begin(engine)
    assert (look(engine).due, 50 < (look(engine).next_in or 0) <= 60) == ([], True)

    engine.rows(LATER.format(60))

    assert look(engine).due == ["sweep"]
    assert begin(engine, "b")


def test_duty_is_due_after_the_server_clock_was_set_back(engine: Engine) -> None:
    begin(engine)
    engine.rows(LATER.format(-3600))

    assert look(engine).due == ["sweep"]
    assert begin(engine)


def test_running_duty_is_skipped_without_waiting_and_due_after_a_rollback(engine: Engine, session: Session) -> None:
    begin(engine)
    engine.rows(LATER.format(60))
    other = session()
    other.rows("begin")
    assert begin(other, "b")
    engine.rows("set lock_timeout = '1s'")
    assert begin(engine) is None

    other.rows("rollback")

    assert begin(engine)


def test_duty_that_fails_to_start_stays_due(engine: Engine) -> None:
    with pytest.raises(DatabaseError):
        begin(engine, what=FAILS)

    assert look(engine).due == ["sweep"]


def test_last_process_of_a_duty_is_reported(engine: Engine) -> None:
    begin(engine, "a")
    assert (look(engine, "a").did_last, look(engine, "b").did_last) == (True, False)

    engine.rows(LATER.format(60))
    begin(engine, "b")

    assert (look(engine, "a").did_last, look(engine, "b").did_last) == (False, True)


def test_schedule_duty_is_due_exactly_at_the_fire_time(engine: Engine) -> None:
    """Schedules use the clock that the test controls."""
    engine.put_schedule(every=30)
    engine.fire_schedules()
    begin(engine, name="schedules")
    assert look(engine, name="schedules").due == []

    engine.clock.advance(seconds=29.5)
    assert (look(engine, name="schedules").due, look(engine, name="schedules").next_in) == ([], 0.5)
    assert begin(engine, name="schedules") is None
    engine.clock.advance(seconds=0.5)

    assert look(engine, name="schedules").due == ["schedules"]
    assert begin(engine, name="schedules")


def test_pause_duty_is_due_when_a_pause_ends(engine: Engine) -> None:
    begin(engine, name="pauses")
    engine.rows("select rolecall.pause_role('work', 20)")
    assert look(engine, name="pauses").next_in == 20

    engine.clock.advance(seconds=20)

    assert look(engine, name="pauses").due == ["pauses"]
    assert begin(engine, name="pauses")


def test_number_of_workers_and_the_latest_worker_are_returned(engine: Engine) -> None:
    last = [engine.worker() for _ in range(3)][-1]

    assert (look(engine).workers, look(engine).latest_worker) == (3, last)


def state(engine: Engine) -> DutyState:
    [found] = run(engine.connection, doctor.duties())
    return found


def record(engine: Engine, error: str | None = None) -> None:
    run(engine.connection, duties.record("sweep", 60.0, "a", error))


def test_successful_run_is_recorded(engine: Engine) -> None:
    begin(engine)
    assert state(engine).succeeded_at is None
    record(engine)

    assert (state(engine).succeeded_at is not None, state(engine).unfinished, state(engine).error) == (True, None, None)


def test_duty_is_failing_from_its_first_failed_run_until_a_success(engine: Engine) -> None:
    begin(engine)
    record(engine)
    succeeded_at = state(engine).succeeded_at
    for error in ("first", "second"):
        engine.rows(LATER.format(60))
        begin(engine)
        record(engine, error)
        engine.rows("update rolecall.duties set unfinished_since = unfinished_since - interval '10 s'")

    failing = state(engine)
    assert (failing.error, failing.succeeded_at, 20 <= (failing.unfinished or 0) < 60) == ("second", succeeded_at, True)

    record(engine)
    assert (state(engine).error, state(engine).unfinished) == (None, None)


def test_first_run_that_fails_immediately_is_recorded_and_the_duty_stays_due(engine: Engine) -> None:
    with pytest.raises(DatabaseError):
        begin(engine, what=FAILS)
    record(engine, "division by zero")

    assert state(engine).error == "division by zero"
    assert look(engine).due == ["sweep"]
    assert begin(engine)


def test_runs_that_never_finish_are_unfinished_since_the_first_one(engine: Engine) -> None:
    """This happens if the process is killed each time."""
    for _ in range(2):
        begin(engine)
        engine.rows("update rolecall.duties set unfinished_since = unfinished_since - interval '60 s'")
        engine.rows(LATER.format(60))

    assert 120 <= (state(engine).unfinished or 0) < 180


def test_recording_an_outcome_does_not_wait_for_another_process(engine: Engine, session: Session) -> None:
    begin(engine)
    engine.rows(LATER.format(60))
    other = session()
    other.rows("begin")
    assert begin(other, "b")
    engine.rows("set lock_timeout = '1s'")

    record(engine, "late")

    other.rows("commit")
    assert state(engine).error is None
