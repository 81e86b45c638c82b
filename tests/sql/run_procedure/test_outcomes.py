"""Tasks with a procedure as their handler: the work and the outcome commit together or not at all."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.sql.engine import START, STEP, Engine
from tests.sql.procedures import COUNT, NEVER, counted, handler, run, run_one, table

BOOM = "raise exception 'no such store' using detail = 'store 7', hint = 'ask the map';"


def test_work_and_completion_commit_together(engine: Engine) -> None:
    table(engine)
    handler(engine, COUNT)

    with engine.connection.transaction(force_rollback=True):
        task_id, end = run_one(engine, payload={"n": 7})
        assert (end.lost, end.error) == (None, None)
        assert (engine.task(task_id).state, counted(engine)) == ("completed", [7])

    assert (engine.tasks(), counted(engine)) == ([], [])


def test_error_rolls_back_the_work_and_fails_the_attempt(engine: Engine) -> None:
    table(engine)
    handler(engine, f"{COUNT} {BOOM}")

    task_id, _ = run_one(engine, payload={"n": 7})

    task = engine.task(task_id)
    assert (task.state, task.attempt, counted(engine)) == ("pending", 1, [])
    assert task.scheduled_for == START + timedelta(seconds=STEP)


def test_error_is_stored_with_detail_hint_and_context(engine: Engine) -> None:
    handler(engine, BOOM)

    _, end = run_one(engine)

    assert (end.error or "").split("\n") == [
        "no such store",
        "detail: store 7",
        "hint: ask the map",
        "context: PL/pgSQL function shop.count(jsonb,jsonb) line 1 at RAISE",
        'SQL statement "call shop.count($1, $2)"',
    ]


def test_task_without_retries_fails_at_the_first_error(engine: Engine) -> None:
    handler(engine, BOOM, retry=NEVER)

    task_id, end = run_one(engine)

    assert engine.task(task_id).state == "failed"
    assert engine.task(task_id).error == end.error


def test_returned_info_is_merged_into_the_tasks_info(engine: Engine) -> None:
    handler(engine, "info := info || jsonb_build_object('stores', (payload ->> 'n')::int, 'seen', info -> 'rows');")
    task_id = engine.enqueue(handler="count", payload={"n": 3})
    claim = engine.claim_one()
    engine.report_info(claim, {"rows": 12})

    run(engine, claim)

    assert engine.task(task_id).info == {"rows": 12, "seen": 12, "stores": 3}


def test_non_object_info_fails_the_attempt(engine: Engine) -> None:
    handler(engine, "info := '[1]';")

    _, end = run_one(engine)

    assert "info must be an object" in (end.error or "")


def test_procedure_can_query_its_task_id(engine: Engine) -> None:
    handler(engine, "info := jsonb_build_object('me', rolecall.current_task());")

    task_id, _ = run_one(engine)

    assert engine.task(task_id).info == {"me": task_id}
    assert engine.value("select rolecall.current_task()") is None


def test_procedure_that_commits_fails_its_attempt(engine: Engine) -> None:
    """The procedure must not end the transaction that contains its work and its completion."""
    handler(engine, "commit;")

    _, end = run_one(engine)

    assert "invalid transaction termination" in (end.error or "")


def test_deferred_constraints_are_checked_before_the_completion(engine: Engine) -> None:
    table(engine)
    engine.rows("create table shop.stores (id int primary key)")
    engine.rows("alter table shop.counted add foreign key (n) references shop.stores deferrable initially deferred")
    handler(engine, COUNT, retry=NEVER)

    task_id, end = run_one(engine, payload={"n": 7})

    assert "violates foreign key constraint" in (end.error or "")
    assert engine.task(task_id).state == "failed"


def test_procedure_runs_with_the_search_path_of_new_sessions(engine: Engine) -> None:
    table(engine)
    engine.rows("do $$ begin execute format('alter database %I set search_path = shop', current_database()); end $$")
    engine.rows("set search_path = pg_catalog")
    handler(engine, "info := jsonb_build_object('path', current_setting('search_path'));")

    task_id, _ = run_one(engine)

    assert engine.task(task_id).info == {
        "path": engine.value("select reset_val from pg_settings where name = 'search_path'")
    }


@pytest.mark.parametrize("gone", ["drop procedure shop.count", "delete from rolecall.handlers"])
def test_missing_procedure_fails_its_task_with_an_error(engine: Engine, gone: str) -> None:
    handler(engine, "null;")
    task_id = engine.enqueue(handler="count")
    claim = engine.claim_one()
    engine.rows(gone)

    end = run(engine, claim)

    assert "procedure" in (end.error or "")
    assert engine.task(task_id).attempt == 1
