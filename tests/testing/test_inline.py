"""Tasks run in the test's own transaction, on either kind of connection."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator
from contextvars import ContextVar
from typing import Any

import psycopg
import pytest

from rolecall import (
    App,
    AsyncClient,
    BatchContext,
    Client,
    ConfigError,
    Context,
    NewTask,
    PermanentFailure,
    Snooze,
    Task,
    linear,
)
from rolecall.testing import inline

Connection = psycopg.Connection[Any]
tenant: ContextVar[str] = ContextVar("tenant", default="nobody")
TRACES = "select (select count(*) from rolecall.all_tasks) + (select count(*) from rolecall.workers)"


class Trial:
    """A transaction that is rolled back, and the tasks that run in it."""

    def __init__(self, app: App, connection: Any, client: Client | AsyncClient) -> None:
        self.app = app
        self.connection = connection
        self._client: Any = client

    async def enqueue(self, *wanted: NewTask) -> list[int]:
        stored = await awaited(self._client.enqueue_many(wanted, connection=self.connection))
        return [each.id for each in stored]

    async def run(self, **options: Any) -> list[Task]:
        done: list[Task] = await awaited(inline(self.app, self.connection, **options))
        return done

    async def ask(self, query: str) -> Any:
        cursor = await awaited(self.connection.execute(query))
        return (await awaited(cursor.fetchone()))[0]


async def awaited(answer: Any) -> Any:
    return await answer if inspect.isawaitable(answer) else answer


@pytest.fixture
def app() -> App:
    return App("shop")


@pytest.fixture(params=["sync", "async"])
async def trial(
    request: pytest.FixtureRequest, app: App, database: str, connection: Connection
) -> AsyncIterator[Trial]:
    if request.param == "sync":
        with psycopg.connect(database) as own:
            yield Trial(app, own, Client(app=app))
            own.rollback()
    else:
        async with await psycopg.AsyncConnection.connect(database) as own_async:
            yield Trial(app, own_async, AsyncClient(app=app))
            await own_async.rollback()
    assert connection.execute(TRACES).fetchone() == (0,)


async def test_inline_tasks_run_in_the_transaction_and_leave_nothing(trial: Trial, connection: Connection) -> None:
    """Includes handlers on the loop, in threads and of batches."""

    @trial.app.task
    async def add(a: int, b: int) -> int:
        return a + b

    @trial.app.task
    def sub(a: int, b: int) -> int:
        return a - b

    @trial.app.task(batch=5)
    async def all_of(ctx: BatchContext, items: list[dict[str, int]]) -> list[int]:
        return [len(items)] * len(items)

    await trial.enqueue(add.task(a=1, b=2), sub.task(a=1, b=2), *(NewTask(handler="all_of", payload={}),) * 2)

    done = await trial.run()

    assert [(task.handler, task.state, task.result) for task in done] == [
        ("add", "completed", 3),
        ("sub", "completed", -1),
        ("all_of", "completed", 2),
        ("all_of", "completed", 2),
    ]
    assert await trial.ask("select count(*) from rolecall.finished_tasks") == 4
    assert connection.execute(TRACES).fetchone() == (0,)


async def test_tasks_spawned_by_a_task_run_too(trial: Trial) -> None:
    """Includes follow-ups, continuations, children and the gather step."""
    order: list[str] = []

    @trial.app.task
    async def note(name: str) -> str:
        order.append(name)
        return name

    async def put_together(ctx: Context) -> list[object]:
        order.append("together")
        return [child.result for child in await ctx.children()]

    @trial.app.task(gather=put_together)
    async def parent(ctx: Context) -> None:
        ctx.spawn(note.task(name="child"))
        ctx.follow_up(note.task(name="follow-up"))

    @trial.app.task
    async def first(ctx: Context) -> None:
        ctx.continue_with(note.task(name="continuation"))

    (parent_id, _) = await trial.enqueue(parent.task(), first.task())

    done = {task.id: task for task in await trial.run()}

    assert sorted(order) == ["child", "continuation", "follow-up", "together"]
    assert (done[parent_id].state, done[parent_id].result) == ("completed", ["child"])
    assert {task.state for task in done.values()} == {"completed"}


async def test_failed_attempt_is_retried_immediately(trial: Trial) -> None:
    attempts: list[int] = []

    @trial.app.task(retry=linear(step=3600), max_attempts=5)
    async def stumble(ctx: Context) -> str:
        attempts.append(ctx.attempt)
        if ctx.attempt < 3:
            raise ValueError("over a stone")
        return "arrived"

    await trial.enqueue(stumble.task())

    [task] = await trial.run()

    assert (attempts, task.state, task.result) == ([1, 2, 3], "completed", "arrived")


async def test_permanent_failure_is_raised_unchanged(trial: Trial) -> None:
    """It is stored first. A test that wants to inspect the failure can turn the exception off."""

    @trial.app.task(max_attempts=1)
    def fail() -> None:
        raise KeyError("the shop")

    @trial.app.task
    async def never() -> None:
        raise PermanentFailure("never")

    await trial.enqueue(fail.task(), never.task())
    with pytest.raises(KeyError, match="the shop") as raised:
        await trial.run()
    assert raised.traceback[-1].name == "fail"
    assert await trial.ask("select count(*) from rolecall.finished_tasks where state = 'failed'") == 1

    [task] = await trial.run(raising=False)

    assert (task.state, "never" in (task.error or "")) == ("failed", True)


async def test_delayed_and_snoozed_tasks_are_not_run(trial: Trial) -> None:
    @trial.app.task
    async def wait(seconds: int) -> object:
        return Snooze(seconds) if seconds else None

    later, snoozed, now = await trial.enqueue(
        wait.task(seconds=0).options(after=60), wait.task(seconds=60), wait.task(seconds=0)
    )

    done = await trial.run()

    assert [(task.id, task.state) for task in done] == [(snoozed, "pending"), (now, "completed")]
    assert await trial.ask(f"select attempt from rolecall.tasks where id = {later}") == 0


async def test_own_transaction_of_a_handler_is_a_savepoint(trial: Trial) -> None:
    """Its writes are part of the test's transaction, or are rolled back with it. This includes after-commit calls."""
    called: list[str] = []
    await awaited(trial.connection.execute("create table ledger (note text)"))

    @trial.app.task(max_attempts=2)
    async def write(ctx: Context) -> None:
        async with ctx.transaction() as tx:
            await tx.execute("insert into ledger values (%s)", [f"attempt {ctx.attempt}"])
            ctx.after_commit(lambda: called.append(f"attempt {ctx.attempt}"))
            if ctx.attempt == 1:
                raise ValueError
            await ctx.complete(tx, "written")

    await trial.enqueue(write.task())

    [task] = await trial.run()

    assert (task.state, task.result, called) == ("completed", "written", ["attempt 2"])
    assert await trial.ask("select array_agg(note) from ledger") == ["attempt 2"]


async def test_rejected_outcome_fails_its_task_and_leaves_the_transaction_usable(trial: Trial) -> None:
    @trial.app.task(max_attempts=1)
    async def go_on(ctx: Context) -> None:
        ctx.follow_up(NewTask(handler="nobody", role="nowhere"))

    await trial.enqueue(go_on.task())

    [task] = await trial.run(raising=False)

    assert "the outcome was rejected" in (task.error or "")


async def test_endless_task_is_reported(trial: Trial) -> None:
    @trial.app.task
    async def again(ctx: Context) -> None:
        ctx.follow_up(again.task())

    await trial.enqueue(again.task())

    with pytest.raises(RuntimeError, match="tasks are left after 10 attempts"):
        await trial.run(most=10)


async def test_nothing_runs_outside_a_transaction(app: App, connection: Connection) -> None:
    with pytest.raises(ConfigError, match="is not in a transaction"):
        inline(app, connection)


async def test_connection_state_of_the_test_is_restored(app: App, connection: Connection) -> None:
    output: list[str] = []
    connection.add_notice_handler(lambda notice: output.append(notice.message_primary or ""))
    query = "select %s::int"

    @app.task
    async def add() -> None: ...

    with connection.transaction(force_rollback=True):
        for number in range(3):
            with connection.transaction():
                Client(app=app).enqueue(add, connection=connection)
                assert len(inline(app, connection)) == 1
            assert connection.execute(query, [number], prepare=True).fetchone() == (number,)
        connection.execute("do $$ begin raise notice 'heard'; end $$")

    assert output == ["heard"]
    assert connection.execute(TRACES).fetchone() == (0,)


async def test_attempts_share_no_context_with_each_other_or_the_test(trial: Trial) -> None:
    @trial.app.task
    async def visit() -> str:
        found = tenant.get()
        tenant.set("ada")
        return found

    await trial.enqueue(visit.task(), visit.task())

    assert [task.result for task in await trial.run()] == ["nobody"] * 2
    assert tenant.get() == "nobody"


async def test_handler_that_cancels_its_own_task_does_not_cancel_the_test(trial: Trial) -> None:
    @trial.app.task
    async def odd() -> str:
        current = asyncio.current_task()
        assert current is not None
        current.cancel()
        return "done"

    await trial.enqueue(odd.task())

    assert [task.result for task in await trial.run()] == ["done"]
