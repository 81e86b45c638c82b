"""SQL handlers in a worker: served as soon as they are declared, and stopped when they must stop."""

from __future__ import annotations

import logging
from typing import Any

import psycopg
import pytest

from rolecall import App, Context, InvalidDeclaration, NewTask, Next, immediate, no_retry
from rolecall.model.error_text import describe
from tests.sql.procedures import WAIT, WAITING
from tests.worker.bench import Bench, until

SESSIONS = "select count(*) from rolecall.procedure_sessions()"
IS_WAITING = f"select {WAITING}"


def write(bench: Bench, body: str, name: str = "count", takes: str = "payload jsonb, inout info jsonb") -> str:
    """Create a procedure; return its name."""
    bench.connection.execute("create schema if not exists shop")
    bench.connection.execute("create table if not exists shop.seen (n int)")
    bench.connection.execute("create sequence if not exists shop.tries")
    bench.connection.execute(
        f"create or replace procedure shop.{name}({takes}) language plpgsql as $b$ begin {body} end $b$".encode()
    )
    return f"shop.{name}"


def declare(bench: Bench, body: str = "null;", name: str = "count") -> NewTask:
    """Declare a procedure as a handler by inserting a row, as from psql; return a task for it."""
    procedure = write(bench, body, name)
    bench.ask("select rolecall.declare_procedure(%s, %s, 'shop')", name, procedure)
    return NewTask(handler=name, payload={"n": 7})


async def test_procedure_declared_by_an_app_runs(bench: Bench) -> None:
    procedure = write(bench, "info := jsonb_build_object('stores', payload -> 'n');")
    count = bench.app.procedure("count", procedure, role="shop", description="Counts stores")

    (task_id,) = bench.enqueue(count.task(n=7))
    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert (task.state, task.role, task.info, task.attempt) == ("completed", "shop", {"stores": 7}, 1)


async def test_procedure_declared_only_by_a_row_runs(bench: Bench) -> None:
    (task_id,) = bench.enqueue(declare(bench))

    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert task.state == "completed"


@pytest.mark.parametrize("listen", [True, False], ids=["notified", "polling"])
async def test_procedure_declared_while_the_worker_runs_is_served(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, listen: bool
) -> None:
    if not listen:
        monkeypatch.setattr("rolecall.worker.wiring.LOOK_EVERY", 0.2)

    async with bench.working(listen=listen, poll_interval=0.2):
        await until(lambda: bench.ask("select count(*) from rolecall.workers"))
        (task_id,) = bench.enqueue(declare(bench))
        await bench.finished(task_id)
        await until(lambda: bench.ask("select handlers from rolecall.workers") == ["count"])


async def test_scheduled_task_runs_when_it_is_due(bench: Bench) -> None:
    """The worker sleeps until then, regardless of its poll interval."""
    (task_id,) = bench.enqueue(declare(bench).options(after=1.5))

    async with bench.working(poll_interval=60):
        (task,) = await bench.finished(task_id)

    assert task.started_at is not None
    assert 0 <= (task.started_at - task.scheduled_for).total_seconds() < 30


async def test_procedure_error_is_stored_as_the_task_error(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    count = bench.app.procedure("count", write(bench, "raise 'no such store' using hint = 'ask';"), retry=no_retry())

    (task_id,) = bench.enqueue(count.task())
    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert (task.state, (task.error or "").splitlines()[:2]) == ("failed", ["no such store", "hint: ask"])
    assert f"Task {task_id} (count) failed at attempt 1: no such store" in caplog.text


async def test_failed_attempt_is_retried(bench: Bench) -> None:
    """Retried by the policy, like any other handler."""
    body = "if nextval('shop.tries') < 3 then raise 'not yet'; end if;"
    count = bench.app.procedure("count", write(bench, body), retry=immediate())

    (task_id,) = bench.enqueue(count.task())
    async with bench.working(poll_interval=0.2):
        (task,) = await bench.finished(task_id)

    assert (task.state, task.attempt) == ("completed", 3)


async def test_cancelled_procedure_is_stopped_in_the_database(bench: Bench) -> None:
    """The statement is cancelled in the database and its work rolled back."""
    (task_id,) = bench.enqueue(declare(bench, f"insert into shop.seen values (1); {WAIT}"))
    bench.ask("select pg_advisory_lock(1)")

    async with bench.working():
        await until(lambda: bench.ask(IS_WAITING))
        bench.cancel(task_id)
        (task,) = await bench.finished(task_id)
        await until(lambda: not bench.ask(SESSIONS))

    assert (task.state, task.attempt, bench.ask("select count(*) from shop.seen")) == ("cancelled", 1, 0)


async def test_procedure_over_its_timeout_is_stopped(bench: Bench) -> None:
    procedure = write(bench, WAIT)
    count = bench.app.procedure("count", procedure, timeout=0.3, max_attempts=1)
    (task_id,) = bench.enqueue(count.task())
    bench.ask("select pg_advisory_lock(1)")

    async with bench.working():
        (task,) = await bench.finished(task_id)
        await until(lambda: not bench.ask(SESSIONS))

    assert (task.state, task.error) == ("failed", "the handler did not finish within 0.3 s")


async def test_stopping_worker_returns_tasks_whose_procedures_still_run(bench: Bench) -> None:
    (task_id,) = bench.enqueue(declare(bench, WAIT))
    bench.ask("select pg_advisory_lock(1)")

    async with bench.working(grace=0):
        await until(lambda: bench.ask(IS_WAITING))

    assert (bench.task(task_id).state, bench.task(task_id).attempt) == ("pending", 0)
    await until(lambda: not bench.ask(SESSIONS))


async def test_slot_that_stopped_a_procedure_runs_the_next_task(bench: Bench) -> None:
    (stuck,) = bench.enqueue(declare(bench, WAIT))
    bench.ask("select pg_advisory_lock(1)")

    async with bench.working(slots=1):
        await until(lambda: bench.ask(IS_WAITING))
        bench.cancel(stuck)
        await bench.finished(stuck)
        (next_one,) = bench.enqueue(declare(bench, name="other"))
        (task,) = await bench.finished(next_one)

    assert task.state == "completed"


async def test_session_ended_by_the_server_spends_no_attempt(bench: Bench) -> None:
    """The interrupted task runs again."""
    (task_id,) = bench.enqueue(declare(bench, WAIT))
    bench.ask("select pg_advisory_lock(1)")

    async with bench.working(poll_interval=0.2):
        await until(lambda: bench.ask(IS_WAITING))
        bench.ask("select pg_terminate_backend(pid) from rolecall.procedure_sessions()")
        await until(lambda: bench.task(task_id).fence > 1)
        bench.ask("select pg_advisory_unlock(1)")
        (task,) = await bench.finished(task_id)

    assert (task.state, task.attempt) == ("completed", 1)


async def test_lease_of_a_long_procedure_is_renewed(bench: Bench) -> None:
    bench.app.role("shop", lease=0.4)
    (task_id,) = bench.enqueue(declare(bench, WAIT))
    bench.ask("select pg_advisory_lock(1)")

    async with bench.working():
        await until(lambda: bench.ask(IS_WAITING))
        await until(lambda: bench.ask("select lease_until > claimed_at + interval '0.9 s' from rolecall.tasks"))
        bench.ask("select pg_advisory_unlock(1)")
        (task,) = await bench.finished(task_id)

    assert (task.state, task.attempt) == ("completed", 1)


async def test_hook_warning_is_logged(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    hook = write(bench, "raise 'no bell to ring';", "ring", takes="payload jsonb")
    count = bench.app.procedure("count", write(bench, "null;"), before=hook, after=hook)

    (task_id,) = bench.enqueue(count.task())
    with caplog.at_level(logging.WARNING, "rolecall.task"):
        async with bench.working():
            (task,) = await bench.finished(task_id)

    assert task.state == "completed"
    assert caplog.text.count(f"hook shop.ring of task {task_id} failed: no bell to ring") == 2


async def test_children_of_a_procedure_can_be_functions(bench: Bench) -> None:
    """A tree can mix the languages of handlers."""

    @bench.app.task(role="shop")
    async def double(ctx: Context, n: int) -> None:
        await ctx.info({"total": 2 * n})

    body = 'perform rolecall.spawn(rolecall.current_task(), \'[{"handler": "double", "payload": {"n": 2}}]\');'
    (task_id,) = bench.enqueue(declare(bench, body))
    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert (task.state, task.info) == ("completed", {"total": 4})


async def test_middlewares_wrap_procedures_too(bench: Bench) -> None:
    result: list[str] = []

    async def tell(ctx: Any, call_next: Next) -> object:
        try:
            return await call_next()
        except Exception as error:
            result.append(f"{ctx.handler}: {describe(error).splitlines()[0]}")
            raise

    bench.app.use(tell)
    count = bench.app.procedure("count", write(bench, "raise 'no such store';"), retry=no_retry())
    (task_id,) = bench.enqueue(count.task())
    async with bench.working():
        await bench.finished(task_id)

    assert result == ["count: rolecall.worker.procedures.ProcedureFailed: no such store"]


async def test_missing_procedure_prevents_the_worker_from_starting(bench: Bench) -> None:
    bench.app.procedure("count", "shop.missing")

    with pytest.raises(InvalidDeclaration, match="there is no procedure shop.missing"):
        bench.enqueue()


def test_name_belongs_to_one_handler_only() -> None:
    app = App("shop")
    app.procedure("count", "shop.count")

    with pytest.raises(InvalidDeclaration, match="already a procedure named 'count'"):
        app.task("count")(lambda: None)


async def test_procedure_that_loses_its_claim_is_rolled_back(bench: Bench) -> None:
    """No change of a lost claim is committed."""
    (task_id,) = bench.enqueue(declare(bench, f"insert into shop.seen values (1); {WAIT}"))
    bench.ask("select pg_advisory_lock(1)")

    async with bench.working():
        await until(lambda: bench.ask(IS_WAITING))
        bench.connection.execute("update rolecall.roles set paused_at = rolecall.clock()")
        bench.ask("select rolecall.deregister_worker(%s)", bench.task(task_id).worker_id)
        bench.ask("select pg_advisory_unlock(1)")
        await until(lambda: not bench.ask(SESSIONS))

    assert (bench.task(task_id).state, bench.ask("select count(*) from shop.seen")) == ("pending", 0)


@pytest.fixture(autouse=True)
def _end_hanging_sessions(bench: Bench) -> Any:
    """A failed test must not leave its worker waiting for the test's own lock."""
    yield
    with psycopg.connect(bench.dsn, autocommit=True) as connection:
        connection.execute("select pg_terminate_backend(pid) from rolecall.procedure_sessions()")
