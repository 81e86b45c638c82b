"""Results are returned as the type that their handler declares; an incompatible result fails its task once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

from rolecall import (
    App,
    AsyncClient,
    BatchContext,
    Child,
    Client,
    Context,
    Need,
    ResultUnreadable,
    TaskState,
    UnreadableResult,
    WorkerOptions,
    immediate,
)
from rolecall.results import LargeResults
from rolecall.testing import FakeContext, assert_enqueued, drain
from tests.kinds import KINDS, NOON, TODAY, Base, Derived, Row
from tests.worker import crunching

Connection = psycopg.Connection[Any]


@pytest.fixture
def app() -> App:
    return App("test")


@pytest.fixture
def client(app: App, database: str) -> Iterator[Client]:
    with Client(database, app=app) as client:
        yield client


async def test_every_kind_of_result_is_returned_as_its_declared_type(app: App, client: Client, database: str) -> None:
    sent = []
    for number, (declared, value, *_) in enumerate(KINDS):

        def keep(value: Any) -> Any:
            return value

        async def keep_async(value: Any) -> Any:
            return value

        function = keep_async if number % 2 else keep
        function.__annotations__ = {"value": declared, "return": declared}
        handler = app.task(f"kind_{number}", role="kinds", max_attempts=1)(function)
        sent.append(handler.task(value=value))
    stored = client.enqueue_many(sent)
    await drain(app, database, WorkerOptions(maintenance=False), timeout=120)

    for (declared, value, *others), task in zip(KINDS, stored, strict=True):
        expected = others[0] if others else value
        found = client.wait(task, timeout=30)
        assert (declared, found.error, found.result) == (declared, None, expected)
        assert type(found.result) is type(expected)


async def test_incompatible_result_fails_its_task_without_retry(app: App, client: Client, database: str) -> None:
    """The work is done and must not be repeated."""
    attempts: list[str] = []

    @app.task(max_attempts=5, retry=immediate())
    async def wrong() -> int:
        attempts.append("wrong")
        return "many"  # type: ignore[return-value]  # on purpose

    @app.task(max_attempts=5, retry=immediate())
    def unstorable() -> dict[str, Any]:
        attempts.append("unstorable")
        return {"a": {None: 1}}

    @app.task(max_attempts=5, retry=immediate())
    async def undeclared(ctx: Context) -> int:
        attempts.append("undeclared")
        async with ctx.transaction() as tx:
            await ctx.complete(tx, "many")
        return 1

    @app.task(max_attempts=5, retry=immediate(), batch=2)
    async def several(ctx: BatchContext, items: list[Row]) -> list[int]:
        attempts.append("several")
        return ["many" for _ in items]  # type: ignore[misc]  # on purpose

    @app.task(max_attempts=5, retry=immediate(), continues=[])
    async def going_on(ctx: Context) -> None:
        attempts.append("going_on")
        ctx.continue_with(wrong.task())

    tasks = [wrong.task(), unstorable.task(), undeclared.task(), several.task(number=1), going_on.task()]
    stored = client.enqueue_many(tasks)
    await drain(app, database)

    assert sorted(attempts) == sorted(task.handler or "" for task in tasks)
    found = [client.get(task) for task in stored]
    assert {task.state for task in found} == {TaskState.FAILED}
    assert [task.error for task in found] == [
        "result of 'wrong': Expected `int`, got `str`",
        "result of 'unstorable' cannot be stored: a has the key None, which has no text form",
        "result of 'undeclared': Expected `int`, got `str`",
        "result of 'several': Expected `int`, got `str`",
        "handler 'going_on' may not be continued by 'wrong'; declared: nothing",
    ]


async def test_result_of_a_process_is_stored_as_its_declared_type(app: App, client: Client, database: str) -> None:
    pack = app.task(process=True, max_attempts=1)(crunching.pack)
    stored = client.enqueue(pack, crates={1: crunching.Box(2, 3)})
    await drain(app, database)

    assert client.wait(stored).result == {1: crunching.Box(2, 3)}
    assert client.get(stored.id).result == {"1": {"width": 2, "height": 3, "packed_at": None}}


async def test_undeclared_result_can_have_numbers_as_keys(app: App, client: Client, database: str) -> None:
    @app.task
    async def count() -> object:
        return {1: {TODAY: "a"}}

    stored = client.enqueue(count)
    await drain(app, database)

    assert client.get(stored).result == {"1": {TODAY.isoformat(): "a"}}


async def test_children_and_needs_of_a_handler_have_results_of_its_type(
    app: App, client: Client, database: str
) -> None:
    seen: list[Any] = []

    @app.task
    async def part(day: date) -> dict[date, Base]:
        return {day: Derived(1)}

    async def gathered(ctx: Context) -> list[Base]:
        seen.extend(child.result for child in await ctx.children(part))
        seen.extend(child.result for child in await ctx.children())
        return [Derived(2)]

    @app.task(gather=gathered)
    async def whole(ctx: Context) -> None:
        ctx.spawn(part.task(day=TODAY))

    @app.task
    async def after(ctx: Context) -> datetime:
        seen.extend(need.result for need in await ctx.needs(whole))
        seen.extend(need.result for need in await ctx.needs())
        return NOON

    needed = whole.task()
    *_, last = client.enqueue_many([needed, after.task().options(needs=[Need(needed, name="whole")])])
    await drain(app, database)

    as_json = {TODAY.isoformat(): {"number": 1}}
    assert seen == [{TODAY: Base(1)}, as_json, [Base(2)], [{"number": 2}]]
    async with AsyncClient(database) as without_app:
        assert (await without_app.wait(last)).result == NOON
        assert (await without_app.get(last)).result == NOON
        assert (await without_app.get(last.id)).result == "2026-11-24T12:00:00Z"


async def test_task_of_a_handler_named_by_a_string_has_a_json_result(app: App, client: Client, database: str) -> None:
    @app.task
    async def when() -> datetime:
        return NOON

    by_handler, by_name = client.enqueue(when), client.enqueue("when")
    await drain(app, database)

    assert (client.wait(by_handler).result, client.wait(by_name).result) == (NOON, "2026-11-24T12:00:00Z")
    assert [task.result for task in assert_enqueued(database, when)] == [NOON, NOON]


async def test_task_with_an_overridden_handler_has_a_json_result(app: App, client: Client, database: str) -> None:
    @app.task
    async def when() -> datetime:
        return NOON

    @app.task
    async def who() -> str:
        return "Ada"

    stored = client.enqueue(when.task().options(handler="who", role="who"))
    await drain(app, database)

    assert client.wait(stored).result == "Ada"


async def test_unfinished_task_has_no_result(app: App, client: Client) -> None:
    @app.task
    async def when() -> datetime:
        return NOON

    assert client.get(client.enqueue(when)).result is None


async def test_stored_result_of_another_release_raises_when_it_is_read(
    app: App, client: Client, database: str, connection: Connection
) -> None:
    children: list[Child[Any]] = []

    @app.task
    async def part() -> Base:
        return Base(1)

    async def gathered(ctx: Context) -> None:
        connection.execute("""update rolecall.finished_tasks set result = '{"count": 1}'""")
        children.extend(await ctx.children(part))

    @app.task(gather=gathered)
    async def whole(ctx: Context) -> None:
        ctx.spawn(part.task())

    stored = client.enqueue(part)
    client.enqueue(whole)
    await drain(app, database)

    for result in (children[0].result, client.wait(stored).result):
        assert isinstance(result, UnreadableResult)
        assert result.stored == {"count": 1}
        with pytest.raises(ResultUnreadable, match="the stored result of 'part' does not fit its declared type"):
            str(result.number)
    assert client.get(stored.id).result == {"count": 1}


async def test_large_result_is_read_as_its_declared_type(
    app: App, client: Client, database: str, tmp_path: Path
) -> None:
    large = LargeResults(tmp_path, over=10)
    app.use(large)

    @app.task
    async def part() -> dict[int, Base]:
        return {number: Derived(number) for number in range(10)}

    @app.task
    async def small() -> date:
        return TODAY

    stored = client.enqueue_many([part.task(), small.task()])
    await drain(app, database)

    assert [await large.read(client.wait(task).result) for task in stored] == [
        {number: Base(number) for number in range(10)},
        TODAY,
    ]
    assert (await large.read(client.get(stored[0].id).result))["0"] == {"number": 0}


@pytest.mark.parametrize("result", [{TODAY: Base(1)}, {TODAY.isoformat(): {"number": 1}}])
async def test_fake_context_returns_children_like_a_worker(app: App, result: Any) -> None:
    @app.task
    async def part() -> dict[date, Base]:
        return {}

    child = Child(id=2, handler="part", state=TaskState.COMPLETED, payload={}, result=result, info=None, error=None)
    context = FakeContext(part, children=[child])

    assert [each.result for each in await context.children(part)] == [{TODAY: Base(1)}]
    assert [each.result for each in await context.children()] == [{TODAY.isoformat(): {"number": 1}}]
