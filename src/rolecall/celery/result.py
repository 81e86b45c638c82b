"""The outcomes of tasks, chains and groups, with Celery's API."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any

from rolecall.celery.current import AnyApp, current
from rolecall.celery.exceptions import TaskFailed, TaskRevokedError
from rolecall.celery.missing import OF_A_RESULT, sentence
from rolecall.model.chains import Chain
from rolecall.model.errors import ChainNotFound, InvalidTask, TaskNotFound
from rolecall.model.states import TaskState
from rolecall.model.tasks import Task

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
# The keys that `update_state` writes into a task's info.
STATE, META = "state", "meta"


class AsyncResult:
    """The outcome of a task, or of the chain that it started. Each property queries the database."""

    def __init__(self, id: str | int, app: AnyApp | None = None) -> None:  # noqa: A002 - Celery's name for it
        self.id = str(id)
        self._app = app

    @property
    def task_id(self) -> str:
        return self.id

    @property
    def state(self) -> str:
        """PENDING, STARTED, RETRY, SUCCESS, FAILURE, REVOKED, or the state set by `update_state`.

        An unknown id is PENDING, as in Celery.
        """
        try:
            return _state(self._last())
        except TaskNotFound:
            return PENDING

    status = state

    @property
    def result(self) -> Any:
        """The result, or the TaskFailed or TaskRevokedError (not raised). For an open task, the reported `meta`."""
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
        """The error with the end of its traceback."""
        return self._last().error

    @property
    def date_done(self) -> datetime | None:
        return self._last().finished_at

    def ready(self) -> bool:
        return self.state in {SUCCESS, FAILURE, REVOKED}

    def successful(self) -> bool:
        return self.state == SUCCESS

    def failed(self) -> bool:
        return self.state == FAILURE

    def get(self, timeout: float | None = None, *, propagate: bool = True, interval: float | None = None) -> Any:  # noqa: ARG002 - the client chooses the interval
        """Wait for the result, for at most `timeout` seconds.

        Raises TimeoutError, TaskFailed, TaskRevokedError, and TaskNotFound for an unknown id. With `propagate=False`,
        the task's error is returned.
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

    def revoke(self, *, terminate: bool = False, signal: object = None) -> None:  # noqa: ARG002 - handlers are not signalled
        """Cancel the task unless it is running. With `terminate`, also ask a running handler to stop."""
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

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(sentence(name, OF_A_RESULT, type(self)))

    def _client(self) -> Any:
        return (self._app or current()).client

    def _number(self) -> int:
        if not self.id.isdecimal():
            raise InvalidTask(f"{self.id!r} is not a task id: ids are numbers here")
        return int(self.id)

    def _last(self) -> Task:
        """Return the latest task of the chain that this task started, or the task itself."""
        client, task_id = self._client(), self._number()
        try:
            chain: Chain = client.get_chain(task_id)
        except ChainNotFound:
            found: Task = client.get(task_id)
        else:
            found = client.get(chain.last_id)
        return found


class GroupResult:
    """The outcomes of a group's members, in order."""

    def __init__(self, results: Sequence[AsyncResult]) -> None:
        self.results = list(results)

    def get(self, timeout: float | None = None, *, propagate: bool = True, interval: float | None = None) -> list[Any]:  # noqa: ARG002 - the client chooses the interval
        """Wait for all results, for at most `timeout` seconds. Raises the errors of `AsyncResult.get`."""
        ends = inf if timeout is None else monotonic() + timeout
        return [each.get(max(0.0, ends - monotonic()), propagate=propagate) for each in self.results]

    join = get

    def ready(self) -> bool:
        return all(each.ready() for each in self.results)

    def waiting(self) -> bool:
        return not self.ready()

    def successful(self) -> bool:
        return all(each.successful() for each in self.results)

    def failed(self) -> bool:
        return any(each.failed() for each in self.results)

    def completed_count(self) -> int:
        return sum(each.successful() for each in self.results)

    def revoke(self, *, terminate: bool = False, signal: object = None) -> None:
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
