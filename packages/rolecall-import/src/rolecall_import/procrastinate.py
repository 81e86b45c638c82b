"""Reads a Procrastinate code base: its tasks, locks, retry strategies and periodic tasks, and all calls that defer."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from rolecall_import.findings import Findings
from rolecall_import.inventory import FoundTask, Inventory
from rolecall_import.reading import (
    INNER,
    UNKNOWN,
    arguments_as_code,
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

MAKERS = frozenset({"App", "Blueprint"})
PACKAGE = "procrastinate"
DEFAULT_QUEUE = "default"
DEFERS = {"defer": "enqueue", "defer_async": "aenqueue"}
BATCHES = frozenset({"batch_defer", "batch_defer_async"})
OPTIONS = {
    "lock": "key",
    "priority": "priority",
    "queue": "role",
    "schedule_at": "scheduled_for",
    "schedule_in": "after",
}
OPTIONS |= {"connection": "connection"}
ONCE = 'Dedupe(mode="error", scope="pending")'
TIMESTAMP = (
    "it received its fire time as `timestamp`, which schedules do not pass here: "
    "use ctx.task.scheduled_for, which includes the jitter"
)
REFUSED = {
    "aliases": "a handler has one name: declare a second one that calls the same function",
    "task_middleware": "@app.task(middlewares=[...]) takes functions (ctx, call_next)",
}
MANAGER_HINT = (
    "client.get, client.list_chains and `rolecall tasks list` read tasks; client.cancel and client.retry change them"
)
INCLUDE_HINT = "app.include(other); the namespace is part of the names of its handlers"
MAKE_HINT = "App(name); its database is DATABASE_URL, or that of Client(dsn) and Worker(app, dsn)"
READ_OPTIONS = frozenset({"lock", "name", "pass_context", "priority", "queue", "queueing_lock", "retry"})
# The hints of names that no other line of the output is about.
NAMES: Mapping[str, str] = {
    "procrastinate.BaseRetryStrategy": "a handler raises Retry(after=...) to set the delay of one retry",
    "procrastinate.JobContext": "declare the first parameter as ctx: Context",
    "procrastinate.contrib.django": "use rolecall.django: docs/guides/django.md",
    "procrastinate.exceptions": "catch rolecall.RolecallError, or one of its kinds",
    "procrastinate.testing": "use rolecall.testing: docs/guides/testing.md",
}
STALLED_HINT = "no code needs to look for stalled jobs: tasks of a lost worker can be claimed again after their lease"


def read_procrastinate(sources: Sources) -> Inventory:
    """Return the declarations, schedules and deferring calls. Imports nothing."""
    return Reader(sources).read()


class Reader:
    """The findings while the files are read."""

    def __init__(self, sources: Sources) -> None:
        self._findings = Findings("procrastinate", sources)
        self._apps: set[str] = set()
        # The namespaces of blueprints, which prefix the names of their tasks.
        self._namespaces: dict[str, str] = {}
        self._tasks: dict[str, FoundTask] = {}

    def read(self) -> Inventory:
        for source, target, value in self._findings.sources.assignments():
            if isinstance(value, ast.Call) and self._makes_app(source, value.func):
                self._apps.add(self._findings.full_name(source, target))
                self._findings.record(target)
                self._findings.call(source, value, MAKE_HINT)
        self._read_namespaces()
        for source, function in self._findings.sources.functions():
            self._read_decorators(source, function)
        for source, inner in self._findings.sources.nested_definitions(Function):
            for decorator in inner.decorator_list:
                if self._is_ours(source, decorator):
                    self._findings.gap(source, decorator, f"def {inner.name}", INNER)
        make_functions_unique(self._findings.inventory.tasks)
        for source, node, handled in self._findings.sources.calls():
            if isinstance(node, ast.Call) and self._read_call(source, node):
                handled.add(node)
        add_rest(self._findings, uses=self._is_procrastinates, hints=NAMES)
        return self._findings.inventory.in_order()

    def _is_procrastinates(self, name: str) -> bool:
        return name.partition(".")[0] == PACKAGE or any(name == app or name.startswith(f"{app}.") for app in self._apps)

    def _read_namespaces(self) -> None:
        for source, node, _ in self._findings.sources.calls():
            if isinstance(node, ast.Call) and code_of(node.func).endswith(".add_tasks_from") and node.args:
                namespace = value_of(options_of(node).get("namespace"))
                self._namespaces[self._findings.full_name(source, node.args[0])] = str(namespace)
                self._findings.call(source, node, INCLUDE_HINT)

    def _makes_app(self, source: Source, node: ast.expr) -> bool:
        module, _, name = self._findings.full_name(source, node).rpartition(".")
        return name in MAKERS and module.partition(".")[0] == PACKAGE

    def _read_decorators(self, source: Source, function: Function) -> None:
        task: FoundTask | None = None
        # The decorator nearest to the function is applied first.
        for decorator in reversed(function.decorator_list):
            if not self._is_ours(source, decorator):
                continue
            reference = decorator.func if isinstance(decorator, ast.Call) else decorator
            assert isinstance(reference, ast.Attribute)  # noqa: S101 - it is one of ours
            self._findings.record(decorator)
            namespace = self._namespaces.get(self._findings.full_name(source, reference.value))
            if reference.attr == "task":
                task = self._add(source, function, options_of(decorator), namespace)
            elif reference.attr == "periodic":
                task = task or self._add(source, function, {}, namespace)
                self._schedule(source, decorator, task)

    def _is_ours(self, source: Source, decorator: ast.expr) -> bool:
        reference = decorator.func if isinstance(decorator, ast.Call) else decorator
        return isinstance(reference, ast.Attribute) and self._findings.full_name(source, reference.value) in self._apps

    def _add(
        self, source: Source, function: Function, keywords: Mapping[str, ast.expr], namespace: str | None
    ) -> FoundTask:
        options = {word: value_of(node) for word, node in keywords.items()}
        context = options.get("pass_context") is True
        name = options.get("name")
        if not isinstance(name, str):
            name = f"{source.module}.{function.name}"
        if namespace:
            name = f"{namespace}:{name}"
        task = read_task(self._findings.sources, source, function, name, skipping=1 if context else 0)
        task.name = valid_name(name, task.notes)
        task.context = context
        if context and function.args.args:
            self._findings.record(function.args.args[0])
        queue = options.get("queue", DEFAULT_QUEUE)
        task.words["role"] = literal(queue if isinstance(queue, str) else DEFAULT_QUEUE)
        self._attempts(source, task, keywords.get("retry"))
        if isinstance(options.get("lock"), str):
            task.words["key"] = literal(options["lock"])
        if isinstance(options.get("queueing_lock"), str):
            task.words["dedupe_key"] = literal(options["queueing_lock"])
            task.notes.append(f"a second waiting job was rejected: using(dedupe={ONCE}); by default it is dropped here")
        if options.get("priority"):
            task.notes.append(f"each job had priority={code_of(keywords['priority'])}: set it with using(priority=...)")
        self._note(source, task, keywords)
        self._tasks[name] = task
        self._findings.add(source, function, task)
        return task

    def _note(self, source: Source, task: FoundTask, keywords: Mapping[str, ast.expr]) -> None:
        for word, node in keywords.items():
            if word in REFUSED:
                self._findings.gap(source, node, f"{task.function}: {word}={code_of(node)}", REFUSED[word])
            elif word not in READ_OPTIONS:
                task.notes.append(f"{word}={code_of(node)} is not translated")
            elif value_of(node) is UNKNOWN and word != "retry":
                task.notes.append(f"{word}={code_of(node)}: its value is not a literal")

    def _attempts(self, source: Source, task: FoundTask, retry: ast.expr | None) -> None:
        value = value_of(retry) if retry is not None else False
        if isinstance(value, bool | int):
            task.words["max_attempts"] = "0" if value is True else str(value + 1)
            if value:
                task.words["retry"] = "immediate()"
            return
        keywords = options_of(retry) if retry is not None else {}
        if retry is None or not self._findings.full_name(source, getattr(retry, "func", retry)).endswith(
            "RetryStrategy"
        ):
            task.words["max_attempts"] = "5"
            task.notes.append(
                f"retry={code_of(retry) if retry else ''}: a custom strategy; raise Retry(after=...) sets the delay"
            )
            return
        most = value_of(keywords.get("max_attempts")) if "max_attempts" in keywords else None
        task.words["max_attempts"] = str(most + 1) if isinstance(most, int) and most else "0"
        task.words["retry"] = _policy({word: value_of(node) for word, node in keywords.items()})
        if "retry_exceptions" in keywords:
            errors = code_of(keywords["retry_exceptions"])
            task.notes.append(f"every error is retried: raise PermanentFailure for those that are not {errors}")

    def _schedule(self, source: Source, decorator: ast.expr, task: FoundTask) -> None:
        keywords = options_of(decorator)
        cron = value_of(keywords.get("cron"))
        if not isinstance(cron, str) or len(cron.split()) != 5:  # noqa: PLR2004 - the fields of a cron expression
            reason = "a cron expression has five fields here, without seconds; app.schedule(every=...) accepts seconds"
            self._findings.gap(source, decorator, code_of(decorator), reason)
            return
        words = {"cron": literal(cron)}
        task.parameters = [each for each in task.parameters if each.name != "timestamp"]
        payload = payload_of(task, {"kwargs": keywords["task_kwargs"]} if "task_kwargs" in keywords else {})
        if isinstance(payload, str):
            self._findings.gap(source, decorator, code_of(decorator), payload)
            return
        if payload:
            words["payload"] = literal(payload)
        if TIMESTAMP not in task.notes:
            task.notes.append(TIMESTAMP)
        task.context = True
        periodic = value_of(keywords.get("periodic_id"))
        name = f"{task.name} {periodic}" if isinstance(periodic, str) and periodic else task.name
        self._findings.schedule(source, decorator, name, task.name, words)

    def _read_call(self, source: Source, node: ast.Call) -> bool:
        if not isinstance(node.func, ast.Attribute):
            return False
        verb, target = node.func.attr, node.func.value
        if verb in DEFERS or verb in BATCHES:
            deferred_task = self._task_and_options(source, target)
            if deferred_task is None:
                return False
            name, options = deferred_task
            self._read_defer(source, node, name, options)
            return True
        if verb == "configure" and (task := self._findings.task_of(source, target)):
            _, options = self._task_and_options(source, node) or ("", {})
            self._findings.call(
                source, node, f"{task.function}{using_code(options)}  # whose enqueue(...) stores a task"
            )
            return True
        if code_of(target).endswith("job_manager") or verb in {"get_stalled_jobs", "retry_job"}:
            self._findings.gap(source, node, code_of(node), STALLED_HINT if "stalled" in verb else MANAGER_HINT)
            return True
        return False

    def _task_and_options(self, source: Source, node: ast.expr) -> tuple[str, dict[str, str]] | None:
        """Return the deferred task as code, with its options: `greet`, `greet.configure(...)` or a name."""
        if self._findings.task_of(source, node):
            return code_of(node), {}
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            return None
        if node.func.attr == "configure" and self._findings.task_of(source, node.func.value):
            return code_of(node.func.value), self._options(source, node)
        if node.func.attr == "configure_task" and self._findings.full_name(source, node.func.value) in self._apps:
            name = value_of(node.args[0] if node.args else options_of(node).get("name"))
            task = self._tasks.get(name) if isinstance(name, str) else None
            return (task.function if task else f'app.handlers["{name}"]'), self._options(source, node)
        return None

    def _options(self, source: Source, node: ast.Call) -> dict[str, str]:
        ours: dict[str, str] = {}
        for word, value in options_of(node).items():
            if word == "schedule_in":
                known = seconds(value)
                ours["after"] = literal(known) if known is not None else f"timedelta(**{code_of(value)})"
            elif word == "queueing_lock":
                ours |= {"dedupe_key": code_of(value), "dedupe": ONCE}
            elif word in OPTIONS:
                ours[OPTIONS[word]] = code_of(value)
            elif word == "task_kwargs":
                self._findings.gap(source, value, f"task_kwargs={code_of(value)}", "give all fields to enqueue(...)")
            elif word not in {"allow_unknown", "name"}:
                self._findings.gap(source, value, f"{word}={code_of(value)}", "no option of a task is like it")
        return ours

    def _read_defer(self, source: Source, node: ast.Call, name: str, options: dict[str, str]) -> None:
        assert isinstance(node.func, ast.Attribute)  # noqa: S101 - the caller has checked it
        verb = node.func.attr
        if verb in BATCHES:
            many = ", ".join(f"{name}{using_code(options)}.task(**{code_of(each)})" for each in node.args)
            call = f"client.enqueue_many([{many}])"
            self._findings.call(source, node, f"await {call}" if verb.endswith("async") else call)
            return
        call = f"{name}{using_code(options)}.{DEFERS[verb]}({arguments_as_code(node)})"
        self._findings.call(source, node, f"await {call}" if verb == "defer_async" else call)


def _policy(options: Mapping[str, Any]) -> str:
    """Procrastinate adds up `wait + linear_wait * n + exponential_wait ** (n + 1)`; a Rolecall policy has one term."""
    known = {word: value for word, value in options.items() if isinstance(value, int) and value}
    if base := known.get("exponential_wait"):
        return f"exponential(first={base + known.get('wait', 0)}, factor={base}, cap=86400, jitter=0)"
    if step := known.get("linear_wait"):
        return f"linear(step={step}, cap=86400)"
    return constant_policy(known.get("wait", 0))
