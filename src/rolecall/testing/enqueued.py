"""Assertions on enqueued tasks, in a database or in a test's transaction."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar, overload

from rolecall.app import HandlerDefinition
from rolecall.client.typed_calls import as_declared
from rolecall.model.tasks import NewTask, Task
from rolecall.model.transactions import AsyncJoinable, Joinable
from rolecall.sql.statement import Statement
from rolecall.sql.tasks import TASK_COLUMNS, read_task
from rolecall.testing.asking import ask, ask_async, is_async
from rolecall.testing.wanted import AnyHandler, Wanted, read_wanted

__all__ = ["all_enqueued", "assert_enqueued", "assert_not_enqueued"]

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
    wanted = read_wanted(handler, payload, words)
    return _looked(database, lambda tasks: _require(wanted, tasks, times))


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
    wanted = read_wanted(handler, payload, words)
    return _looked(database, lambda tasks: _refuse(wanted, tasks))


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
    wanted = read_wanted(handler, payload, words)
    return _looked(database, lambda tasks: _found(wanted, tasks))


def _looked(database: Any, judge: Callable[[Tasks], T]) -> T | Awaitable[T]:
    async def look() -> T:
        return judge(await ask_async(database, STORED))

    return look() if is_async(database) else judge(ask(database, STORED))


def _found(wanted: Wanted, tasks: Tasks) -> list[Task]:
    return [as_declared(wanted.returns, task) for task in tasks if wanted.is_met_by(task)]


def _require(wanted: Wanted, tasks: Tasks, times: int | None) -> list[Task]:
    found = _found(wanted, tasks)
    if times is None and not found:
        raise AssertionError(f"no {wanted} was enqueued; {_told(wanted, tasks)}")
    if times is not None and len(found) != times:
        raise AssertionError(f"{wanted}: {len(found)} were enqueued, not {times}; {_told(wanted, tasks)}")
    return found


def _refuse(wanted: Wanted, tasks: Tasks) -> None:
    if found := _found(wanted, tasks):
        shown = "\n".join(f"  {_line(task)}" for task in found[:MOST_SHOWN])
        raise AssertionError(f"a {wanted} was enqueued:\n{shown}{_rest(found)}")


def _told(wanted: Wanted, tasks: Tasks) -> str:
    if not tasks:
        return "no tasks were enqueued"
    closest = sorted(tasks, key=lambda task: (task.handler != wanted.handler, len([*wanted.differences(task)])))
    lines = [f"  {_line(task)}{_why_not(wanted, task)}" for task in closest[:MOST_SHOWN]]
    return "the tasks are\n" + "\n".join(lines) + _rest(closest)


def _line(task: Task) -> str:
    payload = json.dumps(task.payload, ensure_ascii=False)
    if len(payload) > LONGEST_SHOWN:
        payload = f"{payload[:LONGEST_SHOWN]} ..."
    key = f", key {task.key!r}" if task.key is not None else ""
    due = f", due {task.scheduled_for.isoformat(sep=' ', timespec='seconds')}"
    return f"task {task.id} of {task.handler!r} ({task.state}, role {task.role!r}{key}{due}) {payload}"


def _why_not(wanted: Wanted, task: Task) -> str:
    differences = [*wanted.differences(task)]
    return f": {'; '.join(differences)}" if differences else ""


def _rest(tasks: Tasks) -> str:
    return f"\n  and {len(tasks) - MOST_SHOWN} more" if len(tasks) > MOST_SHOWN else ""
