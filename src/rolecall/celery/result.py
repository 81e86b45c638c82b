"""What became of a task, a chain or a group, as Celery's code asks for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from math import inf
from time import monotonic
from typing import Any

from rolecall.celery.current import AnyApp, current
from rolecall.celery.exceptions import TaskFailed, TaskRevokedError
from rolecall.model.chains import Chain
from rolecall.model.errors import ChainNotFound, InvalidTask, TaskNotFound
from rolecall.model.states import TaskState
from rolecall.model.tasks import Task

__all__ = ["AsyncResult", "GroupResult"]

PENDING, RECEIVED, STARTED, RETRY = "PENDING", "RECEIVED", "STARTED", "RETRY"
SUCCESS, FAILURE, REVOKED = "SUCCESS", "FAILURE", "REVOKED"
STATES = {
    TaskState.BLOCKED: PENDING,
    TaskState.PENDING: PENDING,
    TaskState.RUNNING: STARTED,
    TaskState.WAITING: STARTED,
    TaskState.COMPLETED: SUCCESS,
    TaskState.FAILED: FAILURE,
    TaskState.CANCELLED: REVOKED,
}
# What `update_state` writes into a task's info.
STATE, META = "state", "meta"


class AsyncResult:
    """What became of a task, or of the chain that it began; each question asks the database."""

    def __init__(self, id: str | int, app: AnyApp | None = None) -> None:  # noqa: A002 - Celery's name for it
        self.id = str(id)
        self._app = app

    @property
    def task_id(self) -> str:
        """The id, by Celery's other name for it."""
        return self.id

    @property
    def state(self) -> str:
        """PENDING, STARTED, RETRY, SUCCESS, FAILURE, REVOKED, or what `update_state` said.

        PENDING is also what no task is known of.
        """
        try:
            return _state(self._last())
        except TaskNotFound:
            return PENDING

    status = state

    @property
    def result(self) -> Any:
        """The result; TaskFailed or TaskRevokedError, not raised, where there is none; None while it is open."""
        try:
            task = self._last()
        except TaskNotFound:
            return None
        if not task.is_finished:
            return (task.info or {}).get(META)
        return task.result if task.state is TaskState.COMPLETED else _failure(task)

    info = result

    @property
    def traceback(self) -> str | None:
        """The error with the tail of its traceback."""
        return self._last().error

    @property
    def date_done(self) -> datetime | None:
        """When it ended."""
        return self._last().finished_at

    def ready(self) -> bool:
        """Whether it has ended."""
        return self.state in {SUCCESS, FAILURE, REVOKED}

    def successful(self) -> bool:
        """Whether it has ended well."""
        return self.state == SUCCESS

    def failed(self) -> bool:
        """Whether it has failed for good."""
        return self.state == FAILURE

    def get(self, timeout: float | None = None, *, propagate: bool = True, interval: float | None = None) -> Any:  # noqa: ARG002 - how often to look is the client's to know
        """Wait for the result, for so many seconds at most.

        Raises TimeoutError, TaskFailed, TaskRevokedError; TaskNotFound for an id of no task. With `propagate=False`, an
        error is returned.
        """
        seconds = inf if timeout is None else timeout
        client = self._client()
        task_id = self._number()
        try:
            last = client.wait_chain(task_id, seconds).last_id
        except ChainNotFound:
            last = task_id
        task = client.wait(last, seconds)
        if task.state is TaskState.COMPLETED:
            return task.result
        error = _failure(task)
        if propagate:
            raise error
        return error

    wait = get

    def revoke(self, *, terminate: bool = False, signal: object = None) -> None:  # noqa: ARG002 - a handler is asked to stop
        """Cancel it unless it runs; with `terminate`, also then: its handler is asked to stop."""
        task = self._last()
        if terminate or task.state is not TaskState.RUNNING:
            self._client().cancel(task.id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AsyncResult) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __str__(self) -> str:
        return self.id

    def __repr__(self) -> str:
        return f"<AsyncResult: {self.id}>"

    def _client(self) -> Any:
        return (self._app or current()).client

    def _number(self) -> int:
        if not self.id.isdecimal():
            raise InvalidTask(f"{self.id!r} is no id: tasks have numbers here")
        return int(self.id)

    def _last(self) -> Task:
        """The last task so far of the chain that this task began; the task itself where it began none."""
        client, task_id = self._client(), self._number()
        try:
            chain: Chain = client.get_chain(task_id)
        except ChainNotFound:
            found: Task = client.get(task_id)
        else:
            found = client.get(chain.last_id)
        return found


class GroupResult:
    """What became of the members of a group, in their order."""

    def __init__(self, results: Sequence[AsyncResult]) -> None:
        self.results = list(results)

    def get(self, timeout: float | None = None, *, propagate: bool = True, interval: float | None = None) -> list[Any]:  # noqa: ARG002 - how often to look is the client's to know
        """Wait for all results, for so many seconds at most; raises what `AsyncResult.get` raises."""
        ends = inf if timeout is None else monotonic() + timeout
        return [each.get(max(0.0, ends - monotonic()), propagate=propagate) for each in self.results]

    join = get

    def ready(self) -> bool:
        """Whether all have ended."""
        return all(each.ready() for each in self.results)

    def waiting(self) -> bool:
        """Whether one is open."""
        return not self.ready()

    def successful(self) -> bool:
        """Whether all have ended well."""
        return all(each.successful() for each in self.results)

    def failed(self) -> bool:
        """Whether one has failed."""
        return any(each.failed() for each in self.results)

    def completed_count(self) -> int:
        """How many have ended well."""
        return sum(each.successful() for each in self.results)

    def revoke(self, *, terminate: bool = False, signal: object = None) -> None:
        """Cancel all of them."""
        for each in self.results:
            each.revoke(terminate=terminate, signal=signal)

    def __iter__(self) -> Iterator[AsyncResult]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, place: int) -> AsyncResult:
        return self.results[place]


def _state(task: Task) -> str:
    if task.status == "retrying":
        return RETRY
    if task.state is TaskState.RUNNING and STATE in (task.info or {}):
        return str((task.info or {})[STATE])
    return STATES[task.state]


def _failure(task: Task) -> Exception:
    if task.state is TaskState.CANCELLED:
        return TaskRevokedError(task.error or f"task {task.id} was cancelled")
    return TaskFailed(task.error or f"task {task.id} failed")
