"""Reads an RQ code base: enqueued functions and their options, `@job`, and scheduled jobs."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from rolecall.model.durations import read_duration
from rolecall_import.findings import Findings
from rolecall_import.inventory import FoundTask, Inventory
from rolecall_import.reading import (
    INNER,
    UNKNOWN,
    code_of,
    constant_policy,
    literal,
    make_functions_unique,
    options_of,
    payload_of,
    read_task,
    seconds,
    using_code,
    valid_name,
    value_of,
)
from rolecall_import.sources import Function, Source, Sources
from rolecall_import.statements import add_rest

DEFAULT_QUEUE = "default"
DEFAULT_TIMEOUT = 180
QUEUES = frozenset({"rq.Queue", "rq.queue.Queue"})
GETTERS = frozenset({"django_rq.get_queue"})
JOB = frozenset({"rq.decorators.job", "django_rq.job", "django_rq.decorators.job", "rq.job"})
SCHEDULERS = frozenset({"rq_scheduler.Scheduler", "rq_scheduler.scheduler.Scheduler", "rq.cron.CronScheduler"})
FETCH = frozenset({"rq.job.Job.fetch", "rq.Job.fetch"})
# The position of the function among the arguments of each call that enqueues.
ENQUEUES = {"enqueue": 0, "enqueue_call": 0, "enqueue_in": 1, "enqueue_at": 1}
JOB_OPTIONS = frozenset(
    {"at_front", "depends_on", "description", "failure_ttl", "group_id", "job_id", "job_timeout", "meta", "on_failure"}
    | {
        "on_stopped",
        "on_success",
        "pipeline",
        "rate_limit",
        "repeat",
        "result_ttl",
        "retry",
        "timeout",
        "ttl",
        "unique",
    }
    | {"webhooks"}
)
REFUSED = {
    "at_front": "priority= orders tasks, from 100 (first) to -100",
    "description": "@app.task(description=...) describes the tasks of a handler",
    "group_id": "children of one task are a group: ctx.spawn(...), and ctx.children() in its gather step",
    "failure_ttl": "app.role(name, keep_failed=...) sets how long failed tasks are kept",
    "job_id": "ids are numbers that the database assigns: store the returned id, and use dedupe_key= to enqueue once",
    "meta": "pass data in fields of the payload; report facts while the task runs with ctx.info({...})",
    "on_failure": "enqueue a task with Need(task, on_failure='ignore'), and read ctx.needs() in its handler",
    "on_stopped": "ctx.aborted and ctx.check() show a handler that it must stop",
    "on_success": "in the handler: ctx.follow_up(following.task(...))",
    "pipeline": "enqueue with connection=, in your transaction, or all at once with client.enqueue_many",
    "rate_limit": "there is no rate limit: key= and app.keys(..., capacity=n) limit how many run at once",
    "repeat": "app.schedule(every=...) repeats without end; for a limited number, the handler enqueues the next task",
    "result_ttl": "app.role(name, keep_completed=...) sets how long results are kept",
    "unique": "dedupe_key= makes tasks unique",
    "webhooks": "an event sink receives every outcome: App(sinks=[...])",
}
PACKAGES = frozenset({"django_rq", "rq", "rq_scheduler"})
# The hints of names that no other line of the output is about.
NAMES: Mapping[str, str] = {
    "rq.Connection": "its database is DATABASE_URL, or that of Client(dsn)",
    "rq.Worker": "rolecall worker --app module:app, or Worker(app).run()",
    "rq.get_current_job": "declare the parameter `ctx: Context`: ctx.task_id, ctx.info({...})",
    "rq.job": "client.get(task) reads state, result and error",
    "rq.registry": "`rolecall tasks list --state failed` lists failed tasks",
}
FETCH_HINT = "client.get(task) reads state, result and error; client.cancel(id) cancels"
CURRENT_JOB_HINT = "get_current_job() is ctx: declare the parameter `ctx: Context`"


def read_rq(sources: Sources) -> Inventory:
    """Return the declarations, enqueuing calls and schedules. Imports nothing."""
    return Reader(sources).read()


class Reader:
    """The findings while the files are read."""

    def __init__(self, sources: Sources) -> None:
        self._findings = Findings("rq", sources)
        # By full names of variables: queues with their names and the timeouts of their jobs.
        self._queues: dict[str, tuple[str, float]] = {}
        self._schedulers: dict[str, str] = {}
        self._definitions = {
            f"{source.module}.{function.name}": (source, function) for source, function in sources.functions()
        }
        self._tasks: dict[str, FoundTask] = {}

    def read(self) -> Inventory:
        for source, target, value in self._findings.sources.assignments():
            self._read_variable(source, target, value)
        self._read_decorators()
        # A function becomes a task when it is enqueued anywhere.
        for source, node, _ in self._findings.sources.calls():
            if isinstance(node, ast.Call) and (place := self._enqueues(source, node)) is not None:
                self._enqueued_task(source, node, place)
        make_functions_unique(self._findings.inventory.tasks)
        for source, node, handled in self._findings.sources.calls():
            if isinstance(node, ast.Call) and self._read_call(source, node):
                handled.add(node)
        add_rest(self._findings, uses=self._is_rqs, hints=NAMES)
        return self._findings.inventory.in_order()

    def _is_rqs(self, name: str) -> bool:
        variables = self._queues.keys() | self._schedulers.keys()
        is_variable = any(name == each or name.startswith(f"{each}.") for each in variables)
        return is_variable or name.partition(".")[0] in PACKAGES

    def _read_decorators(self) -> None:
        for source, function in self._findings.sources.functions():
            for decorator in function.decorator_list:
                reference = decorator.func if isinstance(decorator, ast.Call) else decorator
                if self._findings.full_name(source, reference) in JOB:
                    self._findings.record(decorator)
                    self._declare(source, function, decorator)
        for source, inner in self._findings.sources.nested_definitions(Function):
            for decorator in inner.decorator_list:
                if self._findings.full_name(source, getattr(decorator, "func", decorator)) in JOB:
                    self._findings.gap(source, decorator, f"def {inner.name}", INNER)

    def _read_variable(self, source: Source, target: ast.expr, value: ast.expr) -> None:
        queue = self._new_queue(source, value)
        if queue is not None:
            self._queues[self._findings.full_name(source, target)] = queue
            self._findings.record(target)
            name, limit = queue
            self._findings.call(source, value, f"role={literal(name)} of its tasks, and timeout={literal(limit)}")
        elif isinstance(value, ast.Call) and self._findings.full_name(source, value.func) in SCHEDULERS:
            name = value_of(options_of(value).get("queue_name"))
            queue_name = name if isinstance(name, str) else DEFAULT_QUEUE
            self._schedulers[self._findings.full_name(source, target)] = queue_name
            self._findings.record(target)
            self._findings.call(source, value, f"workers fire schedules; role={literal(queue_name)} of its tasks")

    def _new_queue(self, source: Source, node: ast.expr) -> tuple[str, float] | None:
        if not isinstance(node, ast.Call) or self._findings.full_name(source, node.func) not in QUEUES | GETTERS:
            return None
        keywords = options_of(node)
        name = value_of(node.args[0] if node.args else keywords.get("name"))
        limit = _limit(keywords.get("default_timeout"))
        return (name if isinstance(name, str) else DEFAULT_QUEUE), (DEFAULT_TIMEOUT if limit is None else limit)

    def _queue_of(self, source: Source, node: ast.expr) -> tuple[str, float] | None:
        return self._new_queue(source, node) or self._queues.get(self._findings.full_name(source, node))

    def _enqueues(self, source: Source, node: ast.Call) -> int | None:
        """Return the position of the function in a call that enqueues one, otherwise None."""
        if not isinstance(node.func, ast.Attribute):
            return 0 if self._findings.full_name(source, node.func) == "django_rq.enqueue" else None
        if self._findings.full_name(source, node.func) == "django_rq.enqueue":
            return 0
        known = (
            self._queue_of(source, node.func.value)
            or self._findings.full_name(source, node.func.value) in self._schedulers
        )
        return ENQUEUES.get(node.func.attr) if known else None

    def _enqueued_task(self, source: Source, node: ast.Call, place: int) -> FoundTask | None:
        """Return the task that a call enqueues, and add it if it is new."""
        reference = node.args[place] if len(node.args) > place else options_of(node).get("func")
        if reference is None:
            return None
        text = value_of(reference)
        name = text if isinstance(text, str) else self._findings.full_name(source, reference)
        if name in self._tasks:
            return self._tasks[name]
        if name not in self._definitions:
            return None
        queue = self._queue_of(source, node.func.value) if isinstance(node.func, ast.Attribute) else None
        return self._add(name, *(queue or (DEFAULT_QUEUE, DEFAULT_TIMEOUT)))

    def _add(self, name: str, queue: str, limit: float) -> FoundTask:
        source, function = self._definitions[name]
        task = read_task(self._findings.sources, source, function, name)
        task.name = valid_name(name, task.notes)
        task.words |= {"role": literal(queue), "max_attempts": "1"}
        if limit > 0:
            task.words["timeout"] = literal(limit)
        if any(
            isinstance(node, ast.Call) and code_of(node.func).endswith("get_current_job") for node in ast.walk(function)
        ):
            task.context = True
            task.notes.append(CURRENT_JOB_HINT)
        self._tasks[name] = task
        self._findings.add(source, function, task)
        return task

    def _declare(self, source: Source, function: Function, decorator: ast.expr) -> None:
        keywords = options_of(decorator)
        first = decorator.args[0] if isinstance(decorator, ast.Call) and decorator.args else keywords.get("queue")
        name = value_of(first)
        known = self._queue_of(source, first) if first is not None else None
        queue, limit = known or (name if isinstance(name, str) else DEFAULT_QUEUE, DEFAULT_TIMEOUT)
        own = _limit(keywords.get("timeout"))
        task = self._add(f"{source.module}.{function.name}", queue, limit if own is None else own)
        task.words |= self._retry(source, keywords.get("retry"))
        for word, node in keywords.items():
            if word in REFUSED:
                self._findings.gap(source, node, f"{function.name}: {word}={code_of(node)}", REFUSED[word])
            elif word not in {"connection", "queue", "retry", "timeout"}:
                task.notes.append(f"{word}={code_of(node)} is not translated: set it at each call")

    def _read_call(self, source: Source, node: ast.Call) -> bool:
        place = self._enqueues(source, node)
        if place is not None and (task := self._enqueued_task(source, node, place)) is not None:
            self._write(source, node, place, task)
        elif place is not None:
            self._findings.gap(source, node, code_of(node), "the function was not found")
        elif (
            isinstance(node.func, ast.Attribute)
            and node.func.attr == "delay"
            and self._findings.task_of(source, node.func.value)
        ):
            options = self._options(source, node, self._findings.task_of(source, node.func.value))
            self._findings.call(
                source, node, f"{code_of(node.func.value)}{using_code(options)}.enqueue({_arguments(node, 0)})"
            )
        elif (
            isinstance(node.func, ast.Attribute)
            and self._findings.full_name(source, node.func.value) in self._schedulers
        ):
            self._read_schedule(source, node, self._schedulers[self._findings.full_name(source, node.func.value)])
        elif (
            isinstance(node.func, ast.Attribute)
            and node.func.attr == "enqueue_many"
            and self._queue_of(source, node.func.value)
        ):
            self._findings.call(source, node, "client.enqueue_many([handler.task(...), ...])")
        elif self._findings.full_name(source, node.func) in FETCH:
            self._findings.call(source, node, FETCH_HINT)
        else:
            return False
        return True

    def _write(self, source: Source, node: ast.Call, place: int, task: FoundTask) -> None:
        options = self._options(source, node, task)
        if place == 1:
            options = {
                ("scheduled_for" if code_of(node.func).endswith("_at") else "after"): code_of(node.args[0])
            } | options
        queue = self._queue_of(source, node.func.value) if isinstance(node.func, ast.Attribute) else None
        if queue is not None and literal(queue[0]) != task.words["role"]:
            options = {"role": literal(queue[0])} | options
        self._findings.call(
            source, node, f"{task.function}{using_code(options)}.enqueue({_arguments(node, place + 1)})"
        )

    def _options(self, source: Source, node: ast.Call, task: FoundTask | None) -> dict[str, str]:
        ours: dict[str, str] = {}
        for word, value in options_of(node).items():
            if word in {"job_timeout", "timeout"}:
                limit = _limit(value)
                ours["timeout"] = code_of(value) if limit is None else literal(limit)
            elif word == "ttl":
                ours["expires"] = code_of(value)
            elif word == "depends_on":
                ours["needs"] = code_of(value) if isinstance(value, ast.List) else f"[{code_of(value)}]"
            elif word == "retry":
                ours |= self._retry(source, value)
            elif word in REFUSED and task is not None:
                self._findings.gap(source, value, f"{task.function}: {word}={code_of(value)}", REFUSED[word])
        return ours

    def _retry(self, source: Source, node: ast.expr | None) -> dict[str, str]:
        if node is None:
            return {}
        if isinstance(number := value_of(node), int):
            return {"max_attempts": str(number + 1), "retry": "immediate()"}
        keywords = options_of(node)
        most = value_of(keywords.get("max") or (node.args[0] if isinstance(node, ast.Call) and node.args else None))
        interval = value_of(keywords.get("interval"))
        if isinstance(interval, list) and interval:
            reason = f"interval={interval}: raise Retry(after=...) in the handler to set each delay"
            self._findings.gap(source, node, code_of(node), reason)
            interval = interval[0]
        delay = interval if isinstance(interval, int | float) else 0
        return {"max_attempts": str(most + 1) if isinstance(most, int) else "4", "retry": constant_policy(delay)}

    def _read_schedule(self, source: Source, node: ast.Call, queue: str) -> None:
        """Read `scheduler.cron(...)`, `scheduler.schedule(...)` and `cron.register(...)`."""
        keywords = options_of(node)
        reference = keywords.get("func") or next(
            iter(node.args[1 if code_of(node.func).endswith(".cron") else 0 :]), None
        )
        name = self._findings.full_name(source, reference) if reference is not None else ""
        cron = (
            keywords.get("cron_string")
            or keywords.get("cron")
            or (node.args[0] if code_of(node.func).endswith(".cron") and node.args else None)
        )
        rhythm = _rhythm(value_of(cron), seconds(keywords.get("interval")))
        if name not in self._definitions or rhythm is None:
            self._findings.gap(source, node, code_of(node), "its function or its schedule is not a literal")
            return
        queue_name = value_of(keywords.get("queue_name"))
        task = self._tasks.get(name) or self._add(
            name, queue_name if isinstance(queue_name, str) else queue, DEFAULT_TIMEOUT
        )
        payload = payload_of(task, keywords)
        if isinstance(payload, str) or value_of(keywords.get("repeat")) not in (UNKNOWN, None):
            self._findings.gap(source, node, code_of(node), payload if isinstance(payload, str) else REFUSED["repeat"])
            return
        words = dict([rhythm]) | ({"payload": literal(payload)} if payload else {})
        self._findings.schedule(source, node, task.name, task.name, words)


def _limit(node: ast.expr | None) -> float | None:
    """Return the seconds of a timeout, which RQ also accepts as text such as "2m"."""
    value = value_of(node)
    try:
        return read_duration(value) if isinstance(value, str) else seconds(node)
    except ValueError:
        return None


def _rhythm(cron: Any, every: float | None) -> tuple[str, str] | None:
    if isinstance(cron, str) and len(cron.split()) == 5:  # noqa: PLR2004 - the fields of a cron expression
        return "cron", literal(cron)
    return ("every", literal(every)) if every else None


def _arguments(node: ast.Call, skipping: int) -> str:
    """Return the arguments of the function, without those of the job."""
    keywords = options_of(node)
    parts = [*map(ast.unparse, node.args[skipping:])]
    for word, value in keywords.items():
        if word == "args" and isinstance(value, ast.Tuple | ast.List):
            parts += map(ast.unparse, value.elts)
        elif word == "kwargs" and isinstance(value, ast.Dict):
            parts += [
                f"{value_of(key)}={ast.unparse(each)}"
                for key, each in zip(value.keys, value.values, strict=True)
                if key
            ]
        elif word in {"args", "kwargs"}:
            parts.append(f"{'*' if word == 'args' else '**'}{ast.unparse(value)}")
        elif word == "**":
            parts.append(f"**{ast.unparse(value)}")
        elif word not in JOB_OPTIONS | {"func", "f"}:
            parts.append(f"{word}={ast.unparse(value)}")
    return ", ".join(parts)
