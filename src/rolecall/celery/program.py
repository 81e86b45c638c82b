"""Translates a Celery app's tasks, settings and schedules into an App, and calls into tasks."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from threading import RLock
from typing import Any

from rolecall.app import App
from rolecall.celery.attempts import GROUP_HANDLER, REST, function_of, groups
from rolecall.celery.canvas import GROUP, LINK, TASK
from rolecall.celery.configuration import Configuration
from rolecall.celery.current import NOTHING, Step
from rolecall.celery.options import DeclaredOptions, arguments_of_a_task, options_of_a_call, priority_of
from rolecall.celery.payloads import CANVAS, Fields
from rolecall.celery.routes import queue_of
from rolecall.celery.schedules import rhythm_of
from rolecall.celery.tasks import Task
from rolecall.client.sync_client import Client
from rolecall.db.pools import Pool
from rolecall.model.errors import InvalidDeclaration, InvalidTask
from rolecall.model.tasks import NewTask
from rolecall.model.workers import Workplace

HANDLER = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,62}")
# Declared with @shared_task, for all present and future apps.
SHARED: dict[str, Task] = {}


class Program:
    """The App of a Celery app. `prepare` imports the modules with tasks; it is called once, before first use."""

    def __init__(
        self, main: str, conf: Configuration, database: str | Pool | None, prepare: Callable[[], None]
    ) -> None:
        self.conf = conf
        self.own: dict[str, Task] = {}
        self.periodic: dict[str, Mapping[str, Any]] = {}
        self._main = main
        self._app = App(main, lifespan=self._in_a_worker)
        self._has_begun = False
        self._database = database
        self._prepare = prepare
        self._client: Client | None = None
        self._fields: dict[str, Fields] = {}
        self._turn = RLock()

    @property
    def tasks(self) -> Mapping[str, Task]:
        """The tasks by name, including shared ones."""
        return {**SHARED, **self.own}

    @property
    def app(self) -> App:
        """The App with everything declared so far."""
        with self._turn:
            if not self._has_begun:
                self._begin()
            if self._declare_new():
                self._client = None
        return self._app

    @property
    def client(self) -> Client:
        app = self.app
        with self._turn:
            if self._client is None:
                self._client = Client(self._database, app=app)
            return self._client

    @property
    def ignores_results(self) -> bool:
        return bool(self.conf.task_ignore_result)

    def options(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Convert the options of a call. A new queue becomes a role, unless the settings forbid that."""
        task = self.tasks.get(name)
        plain = options_of_a_call(given, DeclaredOptions() if task is None else task.options, self.conf)
        if plain.get("role", self.conf.task_default_queue) not in self.app.roles:
            self._declare_role(plain["role"])
            self._client = None
        return plain

    def draft(self, steps: Sequence[Step], result: Any = NOTHING) -> NewTask:
        """Create the task of the first step. The previous result becomes its first argument."""
        step, rest = steps[0], [dict(each) for each in steps[1:]]
        for each in rest:
            self._check(each, preceded=True)
        if GROUP in step:
            members = [_with_result(member, result) for member in step[GROUP]]
            for member in members:
                self._check(member[0], preceded=False)
                for each in member[1:]:
                    self._check(each, preceded=True)
            return self.app.handlers[GROUP_HANDLER].build_task({"members": members, REST: rest})
        [step] = _with_result([step], result)
        payload = self._payload(step)
        if canvas := {name: value for name, value in ((REST, rest), (LINK, step.get(LINK))) if value}:
            payload[CANVAS] = canvas
        words = arguments_of_a_task(step["options"])
        definition = self.app.handlers.get(step[TASK])
        if definition is None:
            return NewTask(handler=step[TASK], payload=payload, **words)
        return definition.build_task(payload).options(**words)

    def _check(self, step: Step, *, preceded: bool) -> None:
        if GROUP not in step:
            self._payload(_with_result([step], None if preceded else NOTHING)[0])
            return
        for member in step[GROUP]:
            self._check(member[0], preceded=preceded)
            for each in member[1:]:
                self._check(each, preceded=True)

    def _payload(self, step: Step) -> dict[str, Any]:
        name = step[TASK]
        self.app  # noqa: B018 - completes the fields
        if name in self._fields:
            return self._fields[name].payload(tuple(step["args"]), step["kwargs"])
        if step["args"]:
            raise InvalidTask(
                f"{name!r} is not a task of this program: pass its arguments by name, kwargs={{...}}, because "
                "their order is unknown"
            )
        return dict(step["kwargs"])

    def _begin(self) -> None:
        # Imported modules may use the app already. After a failure, the next use tries again.
        self._has_begun = True
        try:
            self._prepare()
            self._declare_all()
        except BaseException:
            self._has_begun = False
            self._app = App(self._main, lifespan=self._in_a_worker)
            self._fields.clear()
            raise

    def _declare_all(self) -> None:
        for queue in self.conf.task_queues or ():
            self._declare_role(str(getattr(queue, "name", queue)))
        self._declare_role(self.conf.task_default_queue)
        begin, gather = groups(self)
        self._app.task(GROUP_HANDLER, role=self.conf.task_default_queue, gather=gather)(begin)
        self._declare_new()
        for name, entry in {**self.conf.beat_schedule, **self.periodic}.items():
            self._schedule(name, entry)

    def _declare_new(self) -> bool:
        """Declare tasks that are not declared yet. Return whether there were any."""
        new = [task for name, task in self.tasks.items() if name not in self._fields]
        for task in new:
            self._declare(task)
        return bool(new)

    def _declare(self, task: Task) -> None:
        if not HANDLER.fullmatch(task.name):
            raise InvalidDeclaration(
                f"task {task.name!r}: a name has letters, digits, _, . and -, starts with a letter and has at most 63 "
                "characters: set name="
            )
        options, conf = task.options, self.conf
        role = options.queue or queue_of(task.name, conf.task_routes) or conf.task_default_queue
        self._declare_role(role)
        fields = Fields(task)
        # Errors are permanent unless the task retries. The policy applies to tasks lost with their worker.
        attempts, policy = options.attempts(acks_late=conf.task_acks_late)
        self._app.task(
            task.name,
            role=role,
            max_attempts=attempts,
            retry=policy,
            timeout=options.time_limit or conf.task_time_limit,
            key=options.key,
            dedupe_key=options.dedupe_key,
        )(function_of(task, fields, self))
        self._fields[task.name] = fields

    def _declare_role(self, role: str) -> None:
        if role in self._app.roles:
            return
        queues = {str(getattr(queue, "name", queue)) for queue in self.conf.task_queues or ()}
        if not self.conf.task_create_missing_queues and role not in {*queues, self.conf.task_default_queue}:
            raise InvalidDeclaration(
                f"the queue {role!r} is not among task_queues, and task_create_missing_queues is off"
            )
        self._app.role(role, keep_completed=self.conf.result_expires or None)

    def _schedule(self, name: str, entry: Mapping[str, Any]) -> None:
        step = {TASK: entry["task"], "args": entry.get("args", ()), "kwargs": entry.get("kwargs") or {}}
        rhythm = rhythm_of(name, entry["schedule"])
        words = self._options_of_schedule(name, entry["task"], entry.get("options") or {})
        self._app.schedule(
            name,
            entry["task"],
            every=rhythm.every,
            cron=rhythm.cron,
            zone=self.conf.zone_name,
            payload=self._payload(step),
            **words,
        )

    def _options_of_schedule(self, name: str, task: str, given: Mapping[str, Any]) -> dict[str, Any]:
        words: dict[str, Any] = {}
        for word, value in given.items():
            definition = self._app.handlers.get(task)
            if word == "priority":
                words["priority"] = priority_of(value, self.conf)
            elif word == "queue" and definition is not None and definition.role == value:
                continue
            elif value is not None:
                raise InvalidDeclaration(
                    f"schedule {name!r}: the option {word}= has no equivalent there: set it where the task is declared"
                )
        return words

    @asynccontextmanager
    async def _in_a_worker(self, workplace: Workplace) -> AsyncIterator[None]:
        database, self._database = self._database, self._database or workplace.dsn
        try:
            yield
        finally:
            with self._turn:
                client, self._client, self._database = self._client, None, database
            if client is not None:
                client.close()


def _with_result(steps: Sequence[Step], result: Any) -> list[dict[str, Any]]:
    """Prepend a result to the arguments of the first step, or of the first task of each member of a group."""
    first, *rest = (dict(step) for step in steps)
    if GROUP in first:
        first[GROUP] = [_with_result(member, result) for member in first[GROUP]]
    elif result is not NOTHING and not first["immutable"]:
        first["args"] = [result, *first["args"]]
    return [first, *rest]
