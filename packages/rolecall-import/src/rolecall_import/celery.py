"""Reads a Celery code base: its tasks, routes and beat schedules, and all calls and compositions of tasks."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from rolecall.celery.missing import MODULES, OF_AN_APP
from rolecall.celery.options import MOOT_OF_A_TASK, REFUSED_OF_A_TASK, REFUSED_WHEN_OFF, DeclaredOptions
from rolecall.celery.routes import queue_of
from rolecall.celery.schedules import crontab
from rolecall.model.errors import InvalidDeclaration, InvalidSchedule
from rolecall.model.retry import no_retry
from rolecall_import.celery_calls import Calls, is_signature
from rolecall_import.celery_classes import TaskClasses
from rolecall_import.celery_settings import Settings
from rolecall_import.findings import Findings
from rolecall_import.inventory import FoundTask, Inventory
from rolecall_import.reading import (
    INNER,
    UNKNOWN,
    code_of,
    constant_policy,
    entries_of,
    literal,
    make_functions_unique,
    matters,
    native,
    options_of,
    payload_of,
    read_task,
    seconds,
    valid_name,
    value_of,
)
from rolecall_import.sources import Function, Source, Sources
from rolecall_import.statements import add_rest

Declaration = tuple[Source, Function, Mapping[str, ast.expr]]
READ_OPTIONS = frozenset(DeclaredOptions.__dataclass_fields__) - {"serializer"}
NOT_NEEDED = ", and not needed here"
OF_A_SCHEDULE = "set it in the declaration of the task"
# Names of an app that only the importer reports: `rolecall.celery` has them.
APP: Mapping[str, str] = {
    "autodiscover_tasks": "import the modules that declare handlers before the worker starts; rolecall.django imports "
    "the tasks module of each installed app",
    "finalize": "not needed",
    "on_after_configure": "declare schedules at the top level of a module: app.schedule(...)",
    "on_after_finalize": "declare schedules at the top level of a module: app.schedule(...)",
}
NAMES: Mapping[str, str] = {
    "celery.exceptions.Ignore": "return rolecall.Cancel(reason)",
    "celery.exceptions.MaxRetriesExceededError": "ctx.attempt and max_attempts show whether an attempt is the last",
    "celery.exceptions.Reject": "return rolecall.Cancel(reason), or raise rolecall.PermanentFailure",
    "celery.exceptions.Retry": "raise rolecall.Retry(after=...)",
    "celery.exceptions.TimeoutError": "client.wait raises rolecall.WaitTimeout",
    "celery.utils.log.get_task_logger": "use logging.getLogger(__name__): records of handlers contain their task",
}
SELF = {
    "request": "self.request.id is ctx.task_id, self.request.retries is ctx.attempt - 1",
    "update_state": "for self.update_state(meta=...): ctx.wait(ctx.info({...})), and client.get(task).info reads it",
}
CRASH = "it has as many attempts as it had retries; losing a worker uses one of them"
FINAL = "an error was final, and is retried here: raise PermanentFailure for it"
ERRORS = "every error is retried here: raise PermanentFailure for the others"


def read_celery(sources: Sources) -> Inventory:
    """Return the declarations, calls and compositions. Imports nothing."""
    return Reader(sources).read()


class Reader:
    """The findings while the files are read."""

    def __init__(self, sources: Sources) -> None:
        self.findings = Findings("celery", sources)
        self.settings = Settings(self.findings)
        # Each declared function with the options of its decorator.
        self.declarations: list[Declaration] = []
        self._tasks: dict[str, FoundTask] = {}

    def read(self) -> Inventory:
        self.settings.read()
        self._classes = TaskClasses(self.findings, self.settings.apps)
        self._classes.read()
        for source, function in self.findings.sources.functions():
            for decorator in function.decorator_list:
                if self._declares(source, decorator):
                    self.findings.record(decorator)
                    self.declarations.append((source, function, options_of(decorator)))
                    self._add(source, function, self._with_class(source, options_of(decorator)))
        self._report_inner()
        make_functions_unique(self.findings.inventory.tasks)
        self._read_schedules()
        calls = Calls(self.findings, self._tasks, self.settings.apps)
        for source, node, handled in self.findings.sources.calls():
            if isinstance(node, ast.Call) and _is_periodic(node):
                self._periodic(source, node)
                handled.add(node)
            elif calls.read(source, node):
                handled.add(node)
        add_rest(self.findings, uses=self._is_celerys, hints=self._hints())
        return self.findings.inventory.in_order()

    def _report_inner(self) -> None:
        """Report tasks that are defined inside functions."""
        for source, inner in self.findings.sources.nested_definitions(Function):
            for decorator in inner.decorator_list:
                if self._declares(source, decorator):
                    self.findings.gap(source, decorator, f"def {inner.name}", INNER)

    def _hints(self) -> Mapping[str, str]:
        """Return the hints of names that no other line of the output is about."""
        modules = {f"celery.{module}.{name}": hint for module, names in MODULES.items() for name, hint in names.items()}
        of_apps = {f"{app}.{name}": hint for app in self.settings.apps for name, hint in {**OF_AN_APP, **APP}.items()}
        return {name: native(hint) for name, hint in {**modules, **of_apps, **NAMES}.items()}

    def _is_celerys(self, name: str) -> bool:
        apps = self.settings.apps
        return name.partition(".")[0] == "celery" or name in apps or any(name.startswith(f"{app}.") for app in apps)

    def _declares(self, source: Source, decorator: ast.expr) -> bool:
        reference = decorator.func if isinstance(decorator, ast.Call) else decorator
        if self.findings.full_name(source, reference) in {"celery.shared_task", "celery.app.shared_task"}:
            return True
        return (
            isinstance(reference, ast.Attribute) and reference.attr == "task" and self._is_app(source, reference.value)
        )

    def _with_class(self, source: Source, keywords: Mapping[str, ast.expr]) -> Mapping[str, ast.expr]:
        """Return the options of a task, including those of its class."""
        place, base = (source, keywords["base"]) if "base" in keywords else self.settings.task_class or (source, None)
        inherited = None if base is None else self._classes.options_of(place, base)
        if inherited is None:
            return keywords
        return {**inherited, **{word: node for word, node in keywords.items() if word != "base"}}

    def _is_app(self, source: Source, node: ast.expr) -> bool:
        return self.findings.full_name(source, node) in self.settings.apps

    def _add(self, source: Source, function: Function, keywords: Mapping[str, ast.expr]) -> None:
        options = {word: value_of(node) for word, node in keywords.items()}
        bound = options.get("bind") is True
        given_name = options.get("name")
        name = given_name if isinstance(given_name, str) else f"{source.module}.{function.name}"
        task = read_task(self.findings.sources, source, function, name, skipping=1 if bound else 0)
        task.name = valid_name(name, task.notes)
        task.context = bound
        routed_queue = None
        try:
            routed_queue = queue_of(name, self.settings.get("task_routes"))
        except InvalidDeclaration as error:
            task.notes.append(str(error))
        role = options.get("queue") or routed_queue or self.settings.get("task_default_queue") or "celery"
        task.words["role"] = literal(role if isinstance(role, str) else "celery")
        acks_late = self.settings.get("task_acks_late")
        _add_attempts(task, keywords, options, retries=_retries_itself(function), acks_late=acks_late)
        limit = seconds(keywords.get("time_limit")) or self.settings.get("task_time_limit")
        if limit:
            task.words["timeout"] = literal(limit)
        self._note(source, function, task, keywords, options)
        self._tasks[name] = task
        self.findings.add(source, function, task)

    def _note(
        self,
        source: Source,
        function: Function,
        task: FoundTask,
        keywords: Mapping[str, ast.expr],
        options: Mapping[str, Any],
    ) -> None:
        for word, node in keywords.items():
            if word in REFUSED_OF_A_TASK and matters(options[word], when_off=f"task_{word}" in REFUSED_WHEN_OFF):
                reason = native(REFUSED_OF_A_TASK[word])
                self.findings.gap(source, node, f"{function.name}: {word}={code_of(node)}", reason)
            elif word not in READ_OPTIONS:
                end = NOT_NEEDED if word in MOOT_OF_A_TASK else ""
                task.notes.append(f"{word}={code_of(node)} is not translated{end}")
            elif options[word] is UNKNOWN and word not in {"autoretry_for", "dont_autoretry_for", "expires"}:
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

    def _read_schedules(self) -> None:
        for source, name, entry in self.settings.beat_entries():
            keywords = dict(entries_of(entry))
            self._schedule(source, entry, name, value_of(keywords.get("task")), keywords)

    def _periodic(self, source: Source, call: ast.Call) -> None:
        signature = call.args[1]
        for word, node in options_of(call).items():
            if word != "name":
                self.findings.gap(source, node, f"{word}={code_of(node)}", OF_A_SCHEDULE)
        task = self.findings.task_of(source, signature.func.value) if is_signature(signature) else None  # type: ignore[attr-defined]  # looked at
        name = value_of(options_of(call).get("name"))
        schedule_name = name if isinstance(name, str) else code_of(signature)
        if task is None or not isinstance(signature, ast.Call):
            self.findings.gap(source, call, code_of(call), "its task was not found")
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
            self.findings.gap(source, node, f"schedule {name}: {code_of(node)}", reason)
            return
        words = dict([rhythm])
        zone = self.settings.get("timezone")
        if isinstance(zone, str) and zone != "UTC":
            words["zone"] = literal(zone)
        handler_task = self._tasks.get(task)
        payload = payload_of(handler_task, keywords)
        if isinstance(payload, str):
            self.findings.gap(source, node, f"schedule {name}", payload)
            return
        if payload:
            words["payload"] = literal(payload)
        for word in keywords.keys() - {"args", "kwargs", "schedule", "task"}:
            self.findings.gap(source, keywords[word], f"schedule {name}: {word}", OF_A_SCHEDULE)
        self.findings.schedule(source, node, name, handler_task.name if handler_task else task, words)

    def _rhythm(self, source: Source, node: ast.expr | None) -> tuple[str, str] | None:
        if isinstance(node, ast.Call) and self.findings.full_name(source, node.func) == "celery.schedules.crontab":
            parts = parts_of_a_crontab(node)
            try:
                return None if UNKNOWN in parts.values() else ("cron", literal(crontab(**parts).expression))
            except (InvalidSchedule, TypeError):
                return None
        if isinstance(node, ast.Call) and self.findings.full_name(source, node.func) == "celery.schedules.schedule":
            node = node.args[0] if node.args else options_of(node).get("run_every")
        every = seconds(node)
        return None if not every else ("every", literal(every))


def parts_of_a_crontab(node: ast.Call) -> dict[str, Any]:
    """Return the arguments of `crontab(...)`."""
    parts = {word: value_of(part) for word, part in options_of(node).items()}
    return parts | dict(zip(("minute", "hour", "day_of_week"), map(value_of, node.args), strict=False))


def _add_attempts(
    task: FoundTask,
    keywords: Mapping[str, ast.expr],
    options: Mapping[str, Any],
    *,
    retries: bool,
    acks_late: bool | None,
) -> None:
    declared = _declared(options)
    number, if_lost = declared.attempts(acks_late=acks_late)
    task.words["max_attempts"] = str(number)
    if not (keywords.keys() & {"autoretry_for", "retry_backoff"} or retries):
        task.words["retry"] = f"{'no_retry' if if_lost == no_retry() else 'immediate'}()"
        if if_lost != no_retry():
            task.notes.append(FINAL)
        return
    task.words["retry"] = _policy(options)
    if "autoretry_for" in keywords:
        task.notes.append(f"autoretry_for={code_of(keywords['autoretry_for'])}: {ERRORS}")
    if retries:
        task.notes.append(f"for self.retry(exc=error, countdown=60): raise Retry(after=60) from error; {CRASH}")


def _declared(options: Mapping[str, Any]) -> DeclaredOptions:
    """Return the options that decide the number of attempts. Values that are not literals are the defaults."""
    known: dict[str, Any] = {}
    if isinstance(options.get("max_retries", UNKNOWN), int | None):
        known["max_retries"] = options["max_retries"]
    if isinstance(words := options.get("retry_kwargs"), Mapping):
        known["retry_kwargs"] = {word: most for word, most in words.items() if isinstance(most, int)}
    if isinstance(options.get("acks_late"), bool):
        known["acks_late"] = options["acks_late"]
    return DeclaredOptions(bind=options.get("bind") is True, **known)


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


def _is_periodic(node: ast.Call) -> bool:
    return code_of(node.func).endswith(".add_periodic_task") and len(node.args) > 1
