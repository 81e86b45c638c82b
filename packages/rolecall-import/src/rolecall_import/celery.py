"""Reads a Celery code base: its tasks, routes and beat schedules, and all calls and compositions of tasks."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from rolecall.celery.configuration import REFUSED, REFUSED_WHEN_OFF, todays_name
from rolecall.celery.options import REFUSED_OF_A_TASK
from rolecall.celery.routes import queue_of
from rolecall.celery.schedules import crontab
from rolecall.model.errors import InvalidDeclaration, InvalidSchedule
from rolecall_import.celery_calls import Calls, is_signature
from rolecall_import.inventory import FoundSchedule, FoundTask, Inventory
from rolecall_import.reading import (
    INNER,
    UNKNOWN,
    Findings,
    code_of,
    constant_policy,
    literal,
    make_functions_unique,
    options_of,
    payload_of,
    read_task,
    seconds,
    valid_name,
    value_of,
)
from rolecall_import.sources import Function, Source, Sources

SETTINGS = frozenset({"beat_schedule", "task_default_queue", "task_routes", "task_time_limit", "timezone", *REFUSED})
SELF = {
    "request": "self.request.id is ctx.task_id, self.request.retries is ctx.attempt - 1",
    "update_state": "for self.update_state(meta=...): ctx.wait(ctx.info({...})), and client.get(task).info reads it",
}
CRASH = "it has as many attempts as it had retries; losing a worker uses one of them"
ERRORS = "every error is retried: raise PermanentFailure for those that are not {errors}"


def read_celery(sources: Sources) -> Inventory:
    """Return the declarations, calls and compositions. Imports nothing."""
    return Reader(sources).read()


class Reader:
    """The findings while the files are read."""

    def __init__(self, sources: Sources) -> None:
        self._findings = Findings("celery", sources)
        self._settings: dict[str, tuple[Source, ast.expr]] = {}
        # Entries of the beat schedule that are assigned one by one.
        self._entries: list[tuple[Source, str, ast.expr]] = []
        self._apps: set[str] = {"celery.current_app"}
        self._tasks: dict[str, FoundTask] = {}

    def read(self) -> Inventory:
        self._read_settings()
        for source, function in self._findings.sources.functions():
            for decorator in function.decorator_list:
                if self._declares(source, decorator):
                    self._add(source, function, options_of(decorator))
        self._report_unsupported()
        make_functions_unique(self._findings.inventory.tasks)
        self._read_schedules()
        calls = Calls(self._findings, self._tasks, self._apps)
        for source, node, handled in self._findings.sources.calls():
            if isinstance(node, ast.Call) and _is_periodic(node):
                self._periodic(source, node)
                handled.add(node)
            elif calls.read(source, node):
                handled.add(node)
        return self._findings.inventory.in_order()

    def _report_unsupported(self) -> None:
        """Report tasks that are classes or are defined inside functions."""
        for source, inner in self._findings.sources.nested_definitions(Function):
            for decorator in inner.decorator_list:
                if self._declares(source, decorator):
                    self._findings.gap(source, decorator, f"def {inner.name}", INNER)
        for source, kind in self._findings.sources.nested_definitions(ast.ClassDef, top=True):
            if any(self._findings.full_name(source, base).startswith("celery.") for base in kind.bases):
                reason = "a task that is a class: declare its run() as a function, and the code around it as middleware"
                self._findings.gap(source, kind.bases[0], f"class {kind.name}", reason)

    def _read_settings(self) -> None:
        modules = self._settings_of_calls()
        for source, target, value in self._findings.sources.assignments():
            if isinstance(value, ast.Call) and self._findings.full_name(source, value.func) == "celery.Celery":
                self._apps.add(self._findings.full_name(source, target))
            if (setting := _setting(target, among_settings=source.module in modules)) is not None:
                self._set(source, setting, value)
            elif isinstance(target, ast.Subscript) and _setting(target.value, among_settings=False) == "beat_schedule":
                self._entries.append((source, code_of(target.slice).strip("'"), value))
        for name, (source, value) in self._settings.items():
            if value_of(value) is UNKNOWN and not isinstance(value, ast.Dict):
                self._findings.gap(source, value, f"{name} = {code_of(value)}", "its value is not a literal")

    def _settings_of_calls(self) -> set[str]:
        """Apply the settings of `conf.update(...)`; return the modules that `config_from_object` names."""
        modules: set[str] = set()
        for source, node, _ in self._findings.sources.calls():
            verb = code_of(node.func) if isinstance(node, ast.Call) else ""
            if not isinstance(node, ast.Call) or not verb.endswith((".config_from_object", ".conf.update")):
                continue
            if verb.endswith(".config_from_object"):
                modules.update(str(value_of(each)) for each in node.args[:1])
                continue
            keywords = options_of(node) | {name: value for argument in node.args for name, value in _entries(argument)}
            for name, value in keywords.items():
                self._set(source, todays_name(name), value)
        return modules

    def _set(self, source: Source, name: str, value: ast.expr) -> None:
        if name in REFUSED and _matters(value_of(value), when_off=name in REFUSED_WHEN_OFF):
            self._findings.gap(source, value, f"{name} = {code_of(value)}", REFUSED[name])
        elif name in SETTINGS:
            self._settings[name] = (source, value)

    def _declares(self, source: Source, decorator: ast.expr) -> bool:
        reference = decorator.func if isinstance(decorator, ast.Call) else decorator
        if self._findings.full_name(source, reference) in {"celery.shared_task", "celery.app.shared_task"}:
            return True
        return (
            isinstance(reference, ast.Attribute) and reference.attr == "task" and self._is_app(source, reference.value)
        )

    def _is_app(self, source: Source, node: ast.expr) -> bool:
        return self._findings.full_name(source, node) in self._apps

    def _add(self, source: Source, function: Function, keywords: Mapping[str, ast.expr]) -> None:
        options = {word: value_of(node) for word, node in keywords.items()}
        bound = options.get("bind") is True
        given_name = options.get("name")
        name = given_name if isinstance(given_name, str) else f"{source.module}.{function.name}"
        task = read_task(self._findings.sources, source, function, name, skipping=1 if bound else 0)
        task.name = valid_name(name, task.notes)
        task.context = bound
        routed_queue = None
        try:
            routed_queue = queue_of(name, self._setting("task_routes"))
        except InvalidDeclaration as error:
            task.notes.append(str(error))
        role = options.get("queue") or routed_queue or self._setting("task_default_queue") or "celery"
        task.words["role"] = literal(role if isinstance(role, str) else "celery")
        _add_attempts(task, keywords, options, retries=_retries_itself(function))
        limit = seconds(keywords.get("time_limit")) or self._setting("task_time_limit")
        if limit:
            task.words["timeout"] = literal(limit)
        self._note(source, function, task, keywords, options)
        self._tasks[name] = task
        self._findings.add(source, function, task)

    def _note(
        self,
        source: Source,
        function: Function,
        task: FoundTask,
        keywords: Mapping[str, ast.expr],
        options: Mapping[str, Any],
    ) -> None:
        for word, node in keywords.items():
            if word in REFUSED_OF_A_TASK and _matters(options[word], when_off=f"task_{word}" in REFUSED_WHEN_OFF):
                self._findings.gap(source, node, f"{function.name}: {word}={code_of(node)}", REFUSED_OF_A_TASK[word])
            elif options[word] is UNKNOWN and word not in {"autoretry_for", "dont_autoretry_for", "expires", "throws"}:
                task.notes.append(f"{word}={code_of(node)}: its value is not a literal")
        if options.get("ignore_result"):
            task.notes.append("its result was ignored: return None")
        for word in ("priority", "expires"):
            if word in keywords:
                task.notes.append(
                    f"each call was made with {word}={code_of(keywords[word])}: set it with using({word}=...)"
                )
        if task.context:
            task.notes += sorted({SELF[word] for word in _self_attributes(function) if word in SELF})

    def _setting(self, name: str) -> Any:
        """Return the value of a setting that is a literal, otherwise None."""
        value = value_of(self._settings[name][1]) if name in self._settings else None
        return None if value is UNKNOWN else value

    def _read_schedules(self) -> None:
        entries = list(self._entries)
        if "beat_schedule" in self._settings:
            source, node = self._settings["beat_schedule"]
            entries += [(source, name, entry) for name, entry in _entries(node)]
        for source, name, entry in entries:
            keywords = dict(_entries(entry))
            self._schedule(source, entry, name, value_of(keywords.get("task")), keywords)

    def _periodic(self, source: Source, call: ast.Call) -> None:
        signature = call.args[1]
        task = self._findings.task_of(source, signature.func.value) if is_signature(signature) else None  # type: ignore[attr-defined]  # looked at
        name = value_of(options_of(call).get("name"))
        schedule_name = name if isinstance(name, str) else code_of(signature)
        if task is None or not isinstance(signature, ast.Call):
            self._findings.gap(source, call, code_of(call), "its task was not found")
            return
        keywords: dict[str, ast.expr] = {
            "schedule": call.args[0],
            "args": ast.Tuple(elts=signature.args, ctx=ast.Load()),
        }
        keywords["kwargs"] = ast.Dict(
            keys=[ast.Constant(word.arg) for word in signature.keywords],
            values=[word.value for word in signature.keywords],
        )
        self._schedule(source, call, schedule_name, task.name, keywords)

    def _schedule(self, source: Source, node: ast.expr, name: str, task: Any, keywords: Mapping[str, ast.expr]) -> None:
        rhythm = self._rhythm(source, keywords.get("schedule"))
        if not isinstance(task, str) or rhythm is None:
            reason = "its schedule is not a literal crontab, timedelta or number, or cron would read it differently"
            self._findings.gap(source, node, f"schedule {name}: {code_of(node)}", reason)
            return
        words = dict([rhythm])
        zone = self._setting("timezone")
        if isinstance(zone, str) and zone != "UTC":
            words["zone"] = literal(zone)
        handler_task = self._tasks.get(task)
        payload = payload_of(handler_task, keywords)
        if isinstance(payload, str):
            self._findings.gap(source, node, f"schedule {name}", payload)
            return
        if payload:
            words["payload"] = literal(payload)
        if "options" in keywords:
            self._findings.gap(
                source, keywords["options"], f"schedule {name}: options", "set them in the declaration of the task"
            )
        handler = handler_task.name if handler_task else task
        self._findings.inventory.schedules.append(
            FoundSchedule(name=name, task=handler, place=source.place(node), words=words)
        )

    def _rhythm(self, source: Source, node: ast.expr | None) -> tuple[str, str] | None:
        if isinstance(node, ast.Call) and self._findings.full_name(source, node.func) == "celery.schedules.crontab":
            parts = {word: value_of(part) for word, part in options_of(node).items()}
            parts |= dict(zip(("minute", "hour", "day_of_week"), map(value_of, node.args), strict=False))
            try:
                return None if UNKNOWN in parts.values() else ("cron", literal(crontab(**parts).expression))
            except (InvalidSchedule, TypeError):
                return None
        if isinstance(node, ast.Call) and self._findings.full_name(source, node.func) == "celery.schedules.schedule":
            node = node.args[0] if node.args else options_of(node).get("run_every")
        every = seconds(node)
        return None if not every else ("every", literal(every))


def _add_attempts(
    task: FoundTask, keywords: Mapping[str, ast.expr], options: Mapping[str, Any], *, retries: bool
) -> None:
    """Add the number of attempts: Celery retries only tasks declared with retries, and lost tasks with late acks."""
    has_autoretry = "autoretry_for" in keywords
    if not (has_autoretry or retries):
        acks_late = options.get("acks_late") is True
        task.words["max_attempts"] = "3" if acks_late else "1"
        if acks_late:
            task.words["retry"] = "immediate()"
            task.notes.append(ERRORS.format(errors="to be retried"))
        return
    words = options.get("retry_kwargs")
    most = options.get("max_retries", 3)
    if isinstance(words, Mapping):
        most = words.get("max_retries", most)
    most = 3 if most is UNKNOWN else most
    task.words["max_attempts"] = "0" if most is None else str(most + 1)
    task.words["retry"] = _policy(options)
    if has_autoretry:
        task.notes.append(ERRORS.format(errors=code_of(keywords["autoretry_for"])))
    if retries:
        task.notes.append(f"for self.retry(exc=error, countdown=60): raise Retry(after=60) from error; {CRASH}")


def _policy(options: Mapping[str, Any]) -> str:
    backoff = options.get("retry_backoff")
    if backoff and backoff is not UNKNOWN:
        first = 1 if backoff is True else backoff
        longest = options.get("retry_backoff_max", 600)
        cap = 600 if longest is UNKNOWN else literal(longest)
        jitter = 0.5 if options.get("retry_jitter", True) else 0.0
        return f"exponential(first={literal(first)}, factor=2, cap={cap}, jitter={jitter:g})"
    words = options.get("retry_kwargs")
    delay = words.get("countdown") if isinstance(words, Mapping) else None
    if delay is None:
        delay = options.get("default_retry_delay", 180)
    return constant_policy(180 if delay is UNKNOWN else delay)


def _retries_itself(function: Function) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "retry"
        for node in ast.walk(function)
    )


def _self_attributes(function: Function) -> Iterator[str]:
    first = function.args.args[0].arg if function.args.args else ""
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == first:
            yield node.attr


def _entries(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if key is not None and isinstance(name := value_of(key), str):
                yield name, value


def _setting(target: ast.expr, *, among_settings: bool) -> str | None:
    """Return the setting that is assigned: of `conf`, of Django's settings, or of a settings module."""
    match target:
        case ast.Attribute(value=ast.Attribute(attr="conf") | ast.Name(id="conf"), attr=name):
            return todays_name(name)
        case ast.Name(id=name) if among_settings or name.startswith("CELERY"):
            return todays_name(name)
        case _:
            return None


def _matters(value: Any, *, when_off: bool) -> bool:
    """Return whether an option differs from its default."""
    return value is UNKNOWN or bool(value) != when_off


def _is_periodic(node: ast.Call) -> bool:
    return code_of(node.func).endswith(".add_periodic_task") and len(node.args) > 1
