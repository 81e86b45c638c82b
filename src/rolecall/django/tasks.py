"""A backend for `django.tasks` of Django 6 and later.

    TASKS = {"default": {"BACKEND": "rolecall.django.tasks.RolecallBackend", "QUEUES": ["default", "mail"]}}

Each Django task is a handler, named by the path of its function ("shop.tasks.send_receipt"). Its queue is a role. A
task enqueued in a Django transaction commits or rolls back with it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from inspect import getdoc, iscoroutinefunction
from types import ModuleType
from typing import Any

from django.apps import apps
from django.core.checks import Error
from django.tasks import Task, TaskResult, task_backends
from django.tasks.backends.base import BaseTaskBackend
from django.tasks.exceptions import InvalidTask, InvalidTaskBackend, TaskResultDoesNotExist
from django.tasks.signals import task_enqueued
from django.utils.json import normalize_json

from rolecall.app.words import NAME
from rolecall.django.attempts import Attempt
from rolecall.django.options import options
from rolecall.django.program import Program
from rolecall.django.project import client, program
from rolecall.django.results import aware, to_django_result
from rolecall.model.errors import TaskNotFound
from rolecall.model.tasks import NewTask
from rolecall.sql import insight
from rolecall.worker.context import Context

NOT_INSTALLED = "rolecall.E001"
NO_ROLE = "rolecall.E002"
LONGEST_NAME = 63
DIGITS = 8
HIGHEST_ID = 2**53
NO_WORD = re.compile(r"[^A-Za-z0-9_.-]")


class RolecallBackend(BaseTaskBackend):
    """Enqueues Django's tasks and reads their results."""

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def enqueue(self, task: Task, args: Iterable[Any], kwargs: Mapping[str, Any]) -> TaskResult:
        """Store a task in the current transaction and send `task_enqueued`.

        Raises InvalidTask, and TypeError for arguments that are not JSON.
        """
        self.validate_task(task)
        handler = name_of(task)
        if handler not in program.handlers:
            raise InvalidTask(
                f"{task.module_path} is not imported by workers: they import {', '.join(options().modules)} of each "
                "app. Move it there, or add its module to ROLECALL['MODULES']"
            )
        client.require_role(task.queue_name)
        payload = {"args": normalize_json(list(args)), "kwargs": normalize_json(dict(kwargs)), "backend": self.alias}
        if task.run_after is not None:
            payload["run_after"] = task.run_after.isoformat()
        stored = client.enqueue(
            NewTask(
                handler=handler,
                role=task.queue_name,
                priority=int(task.priority),
                scheduled_for=aware(task.run_after),
                payload=payload,
            )
        )
        result = self.get_result(str(stored.id))
        task_enqueued.send(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> TaskResult:
        """Return a task's result. Raises TaskResultDoesNotExist for the id of anything but a Django task."""
        text = str(result_id)
        if not (text.isascii() and text.isdecimal()) or int(text) > HIGHEST_ID:
            raise TaskResultDoesNotExist(result_id)
        try:
            found = client.get(int(text))
        except TaskNotFound:
            raise TaskResultDoesNotExist(result_id) from None
        task = program.django_tasks.get(found.handler)
        if task is None:
            raise TaskResultDoesNotExist(result_id)
        attempts = client.ask(insight.attempts(found.id)) if found.attempt else []
        return to_django_result(found, attempts, task)

    def check(self, **_asked: object) -> Iterator[Error]:
        if not apps.is_installed("rolecall.django"):
            yield Error(
                f"TASKS[{self.alias!r}] needs 'rolecall.django' in INSTALLED_APPS for its tables",
                id=NOT_INSTALLED,
            )
        for name in sorted(self.queues):
            if not NAME.fullmatch(name):
                yield Error(
                    f"TASKS[{self.alias!r}]: the queue {name!r} cannot be a role",
                    hint="Roles start with a letter, followed by up to 62 letters, digits, '_', '.' and '-'.",
                    id=NO_ROLE,
                )


def add_tasks(program: Program, modules: Iterable[ModuleType]) -> None:
    """Declare a handler for each Django task in these modules, if any backend is Rolecall's."""
    backends = list(_our_backends())
    if not backends:
        return
    for name in sorted({queue for backend in backends for queue in backend.queues if NAME.fullmatch(queue)}):
        if name not in program.roles:
            program.role(name)
    for module in modules:
        for task in vars(module).values():
            if isinstance(task, Task) and name_of(task) not in program.handlers:
                _add(program, task)


def name_of(task: Task) -> str:
    """Return the handler's name: the path of the task's function. A long one is cut and gets a digest."""
    path = NO_WORD.sub("-", task.module_path)
    if NAME.fullmatch(path):
        return path
    digest = hashlib.sha256(task.module_path.encode()).hexdigest()[:DIGITS]
    return f"t-{path[: LONGEST_NAME - DIGITS - 3]}-{digest}"


def _add(program: Program, task: Task) -> None:
    async def run_async(
        ctx: Context, args: list[Any], kwargs: dict[str, Any], backend: str, run_after: str = ""
    ) -> Any:
        return await Attempt(ctx, task, args, kwargs, (backend, run_after)).run_async()

    def run(ctx: Context, args: list[Any], kwargs: dict[str, Any], backend: str, run_after: str = "") -> Any:
        return Attempt(ctx, task, args, kwargs, (backend, run_after)).run()

    name = name_of(task)
    headline = (getdoc(task.func) or "").partition("\n")[0] or None
    define = program.task(name, role=task.queue_name, description=headline)
    define(run_async if iscoroutinefunction(task.func) else run)
    program.django_tasks[name] = task


def _our_backends() -> Iterator[RolecallBackend]:
    for alias in task_backends:
        # Django's own check reports backends that cannot be imported.
        with suppress(InvalidTaskBackend):
            if isinstance(backend := task_backends[alias], RolecallBackend):
                yield backend
