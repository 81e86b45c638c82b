"""An attempt of a Django task in a worker: calls its function and sends Django's signals."""

from __future__ import annotations

from traceback import format_exception
from typing import Any

from asgiref.sync import sync_to_async
from django.tasks import Task, TaskContext, TaskResult, TaskResultStatus, task_backends
from django.tasks.base import TaskError
from django.tasks.signals import task_finished, task_started
from django.utils import timezone
from django.utils.json import normalize_json

from rolecall.django.project import client, program
from rolecall.django.results import error_of, local, with_options
from rolecall.model.errors import PermanentFailure
from rolecall.sql import insight
from rolecall.worker.context import Context


class Attempt:
    """Sends `task_started` before the call, and `task_finished` after it has succeeded or finally failed.

    After a success, the signal is sent once the result is stored, and not if the attempt was lost.
    """

    def __init__(
        self, ctx: Context, task: Task, args: list[Any], kwargs: dict[str, Any], backend_and_run_after: tuple[str, str]
    ) -> None:
        self._ctx = ctx
        self._task = task
        self._backend, self._run_after = backend_and_run_after
        self._args = args
        self._kwargs = kwargs

    def run(self) -> Any:
        """Call a sync function, in the slot's thread."""
        result = self._begin()
        task_started.send(self._sender, task_result=result)
        try:
            value = normalize_json(self._task.func(*self._arguments(result), **self._kwargs))
        except BaseException as error:
            if self._note_failure(result, error):
                task_finished.send(self._sender, task_result=result)
            raise
        self._ctx.after_commit(lambda: self._send_success(result, value))
        return value

    async def run_async(self) -> Any:
        """Call an async function. Queries run in the thread of Django's connections."""
        result = await sync_to_async(self._begin)()
        await task_started.asend(self._sender, task_result=result)
        try:
            value = normalize_json(await self._task.func(*self._arguments(result), **self._kwargs))
        except BaseException as error:
            if self._note_failure(result, error):
                await task_finished.asend(self._sender, task_result=result)
            raise
        self._ctx.after_commit(lambda: self._send_success(result, value))
        return value

    @property
    def _sender(self) -> type:
        return type(task_backends[self._backend])

    def _begin(self) -> TaskResult:
        task, now = self._ctx.task, timezone.now()
        attempts = client.ask(insight.attempts(task.id)) if task.attempt > 1 else []
        earlier = {each.attempt: each for each in attempts if each.started_at and each.attempt < task.attempt}.values()
        payload = {"backend": self._backend, "run_after": self._run_after}
        return TaskResult(
            task=with_options(self._task, task.priority, task.role, payload),
            id=str(task.id),
            status=TaskResultStatus.RUNNING,
            enqueued_at=local(task.created_at),
            started_at=next((local(each.started_at) for each in earlier), now),
            finished_at=None,
            last_attempted_at=now,
            args=self._args,
            kwargs=self._kwargs,
            backend=self._backend,
            errors=[error_of(each.error) for each in earlier if each.error],
            worker_ids=[*(str(each.worker_id) for each in earlier), str(self._ctx.worker_id)],
        )

    def _arguments(self, result: TaskResult) -> list[Any]:
        return [TaskContext(task_result=result), *self._args] if self._task.takes_context else self._args

    def _note_failure(self, result: TaskResult, error: BaseException) -> bool:
        if not isinstance(error, PermanentFailure) and self._ctx.attempt != self._ctx.max_attempts:
            return False
        kind = type(error)
        text = "".join(format_exception(error))
        result.errors.append(TaskError(exception_class_path=f"{kind.__module__}.{kind.__qualname__}", traceback=text))
        _end(result, TaskResultStatus.FAILED)
        return True

    def _send_success(self, result: TaskResult, value: Any) -> None:
        object.__setattr__(result, "_return_value", value)
        _end(result, TaskResultStatus.SUCCESSFUL)
        with program.connections.prepare():
            task_finished.send(self._sender, task_result=result)


def _end(result: TaskResult, status: TaskResultStatus) -> None:
    object.__setattr__(result, "finished_at", timezone.now())
    object.__setattr__(result, "status", status)
