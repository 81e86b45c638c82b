"""Reads the settings of a Celery code base: `app.conf`, settings modules, Django's settings and `Celery(...)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from rolecall.celery.configuration import REFUSED, REFUSED_WHEN_OFF, todays_name
from rolecall_import.findings import Findings
from rolecall_import.reading import UNKNOWN, code_of, entries_of, literal, matters, native, options_of, value_of
from rolecall_import.sources import Source

NO_SETTING = "Celery's brokers, processes and result stores are not used"
# Settings that are translated, and where.
TRANSLATED: Mapping[str, str] = {
    "beat_schedule": "app.schedule(...) of each entry",
    "task_acks_late": "a task of a lost worker runs again, up to max_attempts; with False, retry=no_retry()",
    "task_default_queue": "role= of tasks without a queue",
    "task_routes": "role= of the tasks",
    "task_time_limit": "timeout= of tasks without a time_limit",
    "timezone": "zone= of the schedules",
}
INSTEAD: Mapping[str, str] = {
    "accept_content": "not needed: payloads are JSON",
    "broker_url": "DATABASE_URL, or Client(dsn)",
    "enable_utc": "not needed: times have a time zone",
    "imports": "import the modules that declare handlers before the worker starts",
    "include": "import the modules that declare handlers before the worker starts",
    "result_backend": "not needed: results are in the database",
    "result_expires": "app.role(name, keep_completed=...)",
    "result_serializer": "not needed: results are JSON",
    "task_default_priority": "priority= of each call",
    "task_ignore_result": "return None from handlers without a result",
    "task_queues": "app.role(name)",
    "task_reject_on_worker_lost": "a task of a lost worker runs again, up to max_attempts",
    "task_serializer": "not needed: payloads are JSON",
    "task_track_started": "not needed: the state RUNNING is always stored",
    "worker_concurrency": "rolecall worker --slots",
    "worker_max_memory_per_child": "a handler with process=True runs in a child process",
    "worker_max_tasks_per_child": "a handler with process=True runs in a child process",
    "worker_prefetch_multiplier": "rolecall worker --prefetch",
}
# Arguments of Celery(...) that need no replacement.
MOOT_ARGUMENTS = frozenset({"main", "namespace", "set_as_current"})
ARGUMENTS: Mapping[str, str] = {
    "backend": "result_backend",
    "broker": "broker_url",
    "include": "include",
}


class Settings:
    """The apps and the settings. A later setting replaces an earlier one."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self.all: list[tuple[Source, str, ast.expr]] = []
        self._values: dict[str, tuple[Source, ast.expr]] = {}
        # Entries of the beat schedule that are assigned one by one.
        self._entries: list[tuple[Source, str, ast.expr]] = []
        self.apps: set[str] = {"celery.current_app"}
        # The classes of all tasks of an app: Celery(task_cls=...).
        self.task_class: tuple[Source, ast.expr] | None = None

    def read(self) -> None:
        """Read all settings, and record each with its replacement."""
        modules = self._read_calls()
        for source, target, value in self._findings.sources.assignments():
            if isinstance(value, ast.Call) and self._findings.full_name(source, value.func) == "celery.Celery":
                self.apps.add(self._findings.full_name(source, target))
                self._findings.record(target)
                self._read_app(source, value)
            if (setting := _setting(target, among_settings=source.module in modules)) is not None:
                self._findings.record(target)
                self._set(source, setting, value)
            elif isinstance(target, ast.Subscript) and _setting(target.value, among_settings=False) == "beat_schedule":
                self._findings.record(target)
                self._entries.append((source, code_of(target.slice).strip("'"), value))
        for name, (source, value) in self._values.items():
            if value_of(value) is UNKNOWN and not isinstance(value, ast.Dict):
                self._findings.gap(source, value, f"{name} = {code_of(value)}", "its value is not a literal")

    def get(self, name: str) -> Any:
        """Return the value of a setting that is a literal, otherwise None."""
        value = value_of(self._values[name][1]) if name in self._values else None
        return None if value is UNKNOWN else value

    def beat_entries(self) -> Iterator[tuple[Source, str, ast.expr]]:
        """Yield the entries of the beat schedule."""
        yield from self._entries
        if "beat_schedule" in self._values:
            source, node = self._values["beat_schedule"]
            yield from ((source, name, entry) for name, entry in entries_of(node))

    def _read_app(self, source: Source, call: ast.Call) -> None:
        name = value_of(call.args[0] if call.args else options_of(call).get("main"))
        self._findings.call(source, call, f"App({literal(name if isinstance(name, str) else 'app')})")
        for word, node in options_of(call).items():
            if word in ARGUMENTS:
                self._set(source, ARGUMENTS[word], node)
            elif word == "task_cls":
                self.task_class = (source, node)
            elif word not in MOOT_ARGUMENTS:
                self._findings.gap(source, node, f"Celery({word}={code_of(node)})", NO_SETTING)

    def _read_calls(self) -> set[str]:
        """Apply the settings of `conf.update(...)`; return the modules that `config_from_object` names."""
        modules: set[str] = set()
        for source, node, _ in self._findings.sources.calls():
            verb = code_of(node.func) if isinstance(node, ast.Call) else ""
            if not isinstance(node, ast.Call) or not verb.endswith((".config_from_object", ".conf.update")):
                continue
            if verb.endswith(".config_from_object"):
                names = [str(value_of(each)) for each in node.args[:1]]
                modules.update(names)
                self._findings.call(source, node, f"each setting of {', '.join(names)} is listed at its line")
                continue
            self._findings.record(node)
            entries = [entry for argument in node.args for entry in entries_of(argument)]
            keywords = options_of(node) | dict(entries)
            for name, value in keywords.items():
                self._set(source, todays_name(name), value)
            if not keywords or "**" in keywords or any(not isinstance(each, ast.Dict) for each in node.args):
                self._findings.gap(source, node, code_of(node), "its settings are not literals")
        return modules

    def _set(self, source: Source, name: str, value: ast.expr) -> None:
        self.all.append((source, name, value))
        code = f"{name} = {code_of(value)}"
        if name in REFUSED and matters(value_of(value), when_off=name in REFUSED_WHEN_OFF):
            self._findings.gap(source, value, code, native(REFUSED[name]))
        elif name in TRANSLATED:
            self._values[name] = (source, value)
            self._findings.replacement(source, value, code, TRANSLATED[name])
        elif name in INSTEAD:
            self._findings.replacement(source, value, code, INSTEAD[name])
        else:
            self._findings.gap(source, value, code, NO_SETTING)


def _setting(target: ast.expr, *, among_settings: bool) -> str | None:
    """Return the setting that is assigned: of `conf`, of Django's settings, or of a settings module."""
    match target:
        case ast.Attribute(value=ast.Attribute(attr="conf") | ast.Name(id="conf"), attr=name):
            return todays_name(name)
        case ast.Name(id=name) if name.startswith("CELERY") or among_settings:
            return todays_name(name)
        case _:
            return None
