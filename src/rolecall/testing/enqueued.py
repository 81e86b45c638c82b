"""Assertions on enqueued tasks, in a database or in a test's transaction."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar, overload

from rolecall.app import HandlerDefinition
from rolecall.client.requests import as_declared
from rolecall.model.tasks import NewTask, Task
from rolecall.model.transactions import AsyncJoinable, Joinable
from rolecall.sql.statement import Statement
from rolecall.sql.tasks import TASK_COLUMNS, read_task
from rolecall.testing.asking import is_async, run_query, run_query_async
from rolecall.testing.expectation import AnyHandler, Expectation, read_expectation

R = TypeVar("R")
T = TypeVar("T")
Tasks = Sequence[Task]
Payload = Mapping[str, object] | None
MOST_SHOWN = 20
LONGEST_SHOWN = 200
STORED: Statement[Tasks] = Statement(
    query=f"select {TASK_COLUMNS} from rolecall.all_tasks order by id",  # noqa: S608 - a constant
    read=lambda rows: list(map(read_task, rows)),
)


@overload
def assert_enqueued(
    database: str | Joinable,
    handler: HandlerDefinition[..., R] | NewTask[R],
    payload: Payload = None,
    /,
    *,
    times: int | None = None,
    **words: Any,
) -> list[Task[R]]: ...


@overload
def assert_enqueued(
    database: str | Joinable,
    handler: str | None = None,
    payload: Payload = None,
    /,
    *,
    times: int | None = None,
    **words: Any,
) -> list[Task]: ...


@overload
def assert_enqueued(
    database: AsyncJoinable,
    handler: HandlerDefinition[..., R] | NewTask[R],
    payload: Payload = None,
    /,
    *,
    times: int | None = None,
    **words: Any,
) -> Awaitable[list[Task[R]]]: ...


@overload
def assert_enqueued(
    database: AsyncJoinable,
    handler: str | None = None,
    payload: Payload = None,
    /,
    *,
    times: int | None = None,
    **words: Any,
) -> Awaitable[list[Task]]: ...


def assert_enqueued(
    database: str | Joinable | AsyncJoinable,
    handler: AnyHandler | None = None,
    payload: Payload = None,
    /,
    *,
    times: int | None = None,
    **words: Any,
) -> list[Task[Any]] | Awaitable[list[Task[Any]]]:
    """Assert that at least one matching task, or exactly `times`, was enqueued. Return the matches, oldest first.

        [task] = assert_enqueued(connection, bill, order=7, key="customer:7")
        assert_enqueued(database, bill, {"order": 7}, after=timedelta(hours=1))
        assert_enqueued(database, send.task(order=7))

    `database` is a connection string, or what `connection=` of an enqueue accepts; with an async connection, await the
    call. Keywords are payload fields (others can have any value) and options: role, state, priority, key, dedupe_key,
    max_attempts, timeout, on_failure, scheduled_for and after (within a second), parent_id, chain_id, origin_id,
    attempt. Tasks match whatever their state, unless `state` is given.

    Raises AssertionError, which lists the enqueued tasks, and TypeError for a keyword that is neither a field nor an
    option or could be both. Pass the payload as an object then.
    """
    expectation = read_expectation(handler, payload, words)
    return _judge(database, lambda tasks: _require(expectation, tasks, times))


@overload
def assert_not_enqueued(
    database: str | Joinable, handler: AnyHandler | None = None, payload: Payload = None, /, **words: Any
) -> None: ...


@overload
def assert_not_enqueued(
    database: AsyncJoinable, handler: AnyHandler | None = None, payload: Payload = None, /, **words: Any
) -> Awaitable[None]: ...


def assert_not_enqueued(
    database: str | Joinable | AsyncJoinable,
    handler: AnyHandler | None = None,
    payload: Payload = None,
    /,
    **words: Any,
) -> Awaitable[None] | None:
    """Assert that no matching task was enqueued. Without arguments, assert that there are no tasks at all.

    Arguments and errors are those of `assert_enqueued`.
    """
    expectation = read_expectation(handler, payload, words)
    return _judge(database, lambda tasks: _refuse(expectation, tasks))


@overload
def all_enqueued(
    database: str | Joinable, handler: AnyHandler | None = None, payload: Payload = None, /, **words: Any
) -> list[Task]: ...


@overload
def all_enqueued(
    database: AsyncJoinable, handler: AnyHandler | None = None, payload: Payload = None, /, **words: Any
) -> Awaitable[list[Task]]: ...


def all_enqueued(
    database: str | Joinable | AsyncJoinable,
    handler: AnyHandler | None = None,
    payload: Payload = None,
    /,
    **words: Any,
) -> list[Task] | Awaitable[list[Task]]:
    """Return the matching tasks, oldest first. Arguments are those of `assert_enqueued`."""
    expectation = read_expectation(handler, payload, words)
    return _judge(database, lambda tasks: _matches(expectation, tasks))


def _judge(database: Any, judge: Callable[[Tasks], T]) -> T | Awaitable[T]:
    async def read_and_judge() -> T:
        return judge(await run_query_async(database, STORED))

    return read_and_judge() if is_async(database) else judge(run_query(database, STORED))


def _matches(expectation: Expectation, tasks: Tasks) -> list[Task]:
    return [as_declared(expectation.returns, task) for task in tasks if expectation.is_met_by(task)]


def _require(expectation: Expectation, tasks: Tasks, times: int | None) -> list[Task]:
    found = _matches(expectation, tasks)
    if times is None and not found:
        raise AssertionError(f"no {expectation} was enqueued; {_description(expectation, tasks)}")
    if times is not None and len(found) != times:
        raise AssertionError(
            f"{expectation}: {len(found)} were enqueued, not {times}; {_description(expectation, tasks)}"
        )
    return found


def _refuse(expectation: Expectation, tasks: Tasks) -> None:
    if found := _matches(expectation, tasks):
        shown = "\n".join(f"  {_line(task)}" for task in found[:MOST_SHOWN])
        raise AssertionError(f"a {expectation} was enqueued:\n{shown}{_count_of_more(found)}")


def _description(expectation: Expectation, tasks: Tasks) -> str:
    if not tasks:
        return "no tasks were enqueued"
    closest = sorted(
        tasks, key=lambda task: (task.handler != expectation.handler, len([*expectation.differences(task)]))
    )
    lines = [f"  {_line(task)}{_differences(expectation, task)}" for task in closest[:MOST_SHOWN]]
    return "the tasks are\n" + "\n".join(lines) + _count_of_more(closest)


def _line(task: Task) -> str:
    payload = json.dumps(task.payload, ensure_ascii=False)
    if len(payload) > LONGEST_SHOWN:
        payload = f"{payload[:LONGEST_SHOWN]} ..."
    key = f", key {task.key!r}" if task.key is not None else ""
    due = f", due {task.scheduled_for.isoformat(sep=' ', timespec='seconds')}"
    return f"task {task.id} of {task.handler!r} ({task.state}, role {task.role!r}{key}{due}) {payload}"


def _differences(expectation: Expectation, task: Task) -> str:
    differences = [*expectation.differences(task)]
    return f": {'; '.join(differences)}" if differences else ""


def _count_of_more(tasks: Tasks) -> str:
    return f"\n  and {len(tasks) - MOST_SHOWN} more" if len(tasks) > MOST_SHOWN else ""
