"""Two releases of a program on one database: a task incompatible with one waits for the other at no cost."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from rolecall import App, NewTask
from rolecall.db.run import run
from rolecall.model.operator.causes import causes_of
from rolecall.model.operator.why import CauseKind
from rolecall.sql import roles, why
from rolecall.sql.enqueue import enqueue_many
from tests.worker.bench import PATIENCE, Bench, until

MISFITS = "select count(*) from rolecall.task_events where kind = 'misfit'"
TAKEN_TWICE = """\
select count(*) - count(distinct (task_id, worker_id)) from rolecall.task_events where kind = 'misfit'
"""
# As if the server had run for long and the task had been returned long ago.
LONG_AGO = (
    "update rolecall.server_epoch set seen_at = seen_at - interval '2 hours'",
    "update rolecall.task_events set at = at - interval '2 hours'",
)
MANY = 20


def before() -> App:
    """The previous release."""
    app = App("before")

    @app.task(role="work")
    async def greet(name: str) -> str:
        return f"before: {name}"

    return app


def after() -> App:
    """The next release, which has an additional optional parameter."""
    app = App("after")

    @app.task(role="work")
    async def greet(name: str, loud: bool = False) -> str:
        return f"after: {name}{'!' * loud}"

    return app


def strict() -> App:
    """A later release, in which the parameter is required."""
    app = App("strict")

    @app.task(role="work")
    async def greet(name: str, loud: bool) -> str:
        return f"strict: {name}{'!' * loud}"

    return app


def lenient() -> App:
    """A release that ignores unknown fields."""
    app = App("lenient")

    @app.task(role="work", extra="ignore")
    async def greet(name: str) -> str:
        return f"lenient: {name}"

    return app


@asynccontextmanager
async def fleet(bench: Bench, app: App, number: int = 2) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        bench.app = app
        for _ in range(number):
            await stack.enter_async_context(bench.working(slots=2, poll_interval=0.2))
        yield


def enqueue(bench: Bench, app: App, number: int = MANY, **payload: object) -> list[int]:
    run(bench.connection, roles.declare(*app.declaration()))
    new = [NewTask(role="work", handler="greet", payload={"name": "tea", **payload})] * number
    return [enqueued.id for enqueued in run(bench.connection, enqueue_many(new))]


@pytest.mark.parametrize(("old", "new", "payload", "expected"), [
    (before, after, {"loud": True}, "after: tea!"),
    (strict, before, {}, "before: tea"),
])  # fmt: skip
async def test_tasks_incompatible_with_one_fleet_wait_for_the_other(
    bench: Bench, old: Callable[[], App], new: Callable[[], App], payload: dict[str, Any], expected: str
) -> None:
    ids = enqueue(bench, new(), **payload)

    async with fleet(bench, old()):
        await until(lambda: bench.ask(MISFITS) == MANY)
        assert {bench.task(task_id).attempt for task_id in ids} == {0}
        async with fleet(bench, new()):
            done = await bench.finished(*ids)

    assert {(task.state, task.result, task.attempt) for task in done} == {("completed", expected, 1)}
    assert bench.ask(MISFITS) == MANY, "an incompatible task was offered to the same worker again"


async def test_tasks_of_both_releases_run_while_both_fleets_work(bench: Bench) -> None:
    async with fleet(bench, before()), fleet(bench, strict()):
        ids = [*enqueue(bench, strict(), loud=True), *enqueue(bench, before())]
        done = await bench.finished(*ids)

    assert {(task.state, task.result) for task in done} == {
        ("completed", "strict: tea!"),
        ("completed", "before: tea"),
    }
    assert bench.ask(TAKEN_TWICE) == 0


async def test_handler_that_ignores_extra_fields_runs_tasks_of_the_other_release(bench: Bench) -> None:
    ids = enqueue(bench, after(), loud=True)

    async with fleet(bench, lenient(), 1):
        done = await bench.finished(*ids)

    assert {task.result for task in done} == {"lenient: tea"}
    assert bench.ask(MISFITS) == 0


async def test_incompatible_task_is_explained_and_fails_after_an_hour(bench: Bench) -> None:
    [task_id] = enqueue(bench, after(), 1, loud=True)

    async with fleet(bench, before(), 1):
        await until(lambda: bench.ask(MISFITS))
        seen = run(bench.connection, why.situation(task_id))
        assert seen is not None
        [cause, *_] = causes_of(seen)
        assert cause.kind is CauseKind.UNFIT
        assert "its payload fits no worker that has claimed it" in cause.sentence
        assert bench.rescue() == {}
        for change in LONG_AGO:
            bench.connection.execute(change)
        assert bench.rescue() == {task_id: "failed"}

    task = bench.task(task_id)
    assert "payload of 'greet'" in str(task.error)


async def test_payload_incompatible_with_all_workers_is_returned_only_once(bench: Bench) -> None:
    """If no worker reports which signatures it accepts, for example while draining, it fails at its second claim."""
    [task_id] = enqueue(bench, after(), 1, loud=True)
    bench.connection.execute(
        "create function forget() returns trigger language plpgsql as $$ begin new.intakes := '{}'; return new; end $$"
    )
    bench.connection.execute(
        "create trigger forget before update on rolecall.workers for each row execute function forget()"
    )

    async with fleet(bench, before(), 1):
        [task] = await bench.finished(task_id, within=PATIENCE)

    assert (task.state, bench.ask(MISFITS)) == ("failed", 2)
