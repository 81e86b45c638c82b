"""Finds everything that `rolecall.celery` rejects in a Celery code base.

The declarations, settings and schedules are given to `rolecall.celery` itself, with empty functions in place of the
tasks. Nothing of the code base is imported or run.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping
from importlib import import_module
from typing import Any

from rolecall.celery import Celery
from rolecall.celery.configuration import MUST_BE, REFUSED
from rolecall.celery.missing import OF_A_RESULT, OF_A_TASK, sentence
from rolecall.celery.options import DeclaredOptions, call_options, options_of_a_call, parse_declaration
from rolecall.celery.result import AsyncResult
from rolecall.celery.schedules import crontab
from rolecall.celery.tasks import Task, require_retry_arguments
from rolecall.model.errors import RolecallError
from rolecall_import.celery import Declaration, Reader, parts_of_a_crontab
from rolecall_import.inventory import Gap, Place
from rolecall_import.reading import UNKNOWN, code_of, entries_of, options_of, value_of
from rolecall_import.sources import Function, Source, Sources

REJECTIONS = (RolecallError, TypeError, ImportError, AttributeError)
NOT_CHECKED = "its value is known only when the code runs, and is not checked"
# These arguments of Celery(...) are checked as settings, or are always accepted.
SETTINGS_OF_CELERY = frozenset({"**", "backend", "broker", "include", "main", "set_as_current"})
RESULTS = frozenset({"AsyncResult", "apply_async", "delay", "delay_on_commit", "send_task"})


def check_celery(sources: Sources) -> list[Gap]:
    """Return what `rolecall.celery` rejects and the files that cannot be read, in the order of files and lines."""
    unread = [Gap(place=Place(each.file, 1), code="not read", reason=each.problem) for each in sources.unread]
    return sorted([*Check(sources).read(), *unread], key=lambda gap: (gap.place, gap.code))


class Check:
    """The rejections of a code base."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._reader = Reader(sources)
        self._reader.read()
        self._found: list[Gap] = []
        # The accepted settings: those of every app that tries a declaration.
        self._settings: dict[str, Any] = {}

    def read(self) -> list[Gap]:
        for source, name, node in self._reader.settings.all:
            self._read_setting(source, name, node)
        for declaration in self._reader.declarations:
            self._read_declaration(declaration)
        for source, name, entry in self._reader.settings.beat_entries():
            self._read_entry(source, name, entry)
        for source in self._sources.files:
            results = {code_of(target) for target in _results(source.tree)}
            for each in ast.walk(source.tree):
                match each:
                    case ast.Import() | ast.ImportFrom():
                        self._read_import(source, each)
                    case ast.Call():
                        self._read_call(source, each)
                    case ast.Attribute():
                        self._read_attribute(source, each, results)
        return self._found

    def _try(
        self, source: Source, node: ast.expr | ast.stmt, code: str, act: Callable[..., object], *args: Any, **words: Any
    ) -> bool:
        """Call `act`, record its error, and return whether there was none."""
        try:
            act(*args, **words)
        except REJECTIONS as error:
            self._found.append(Gap(place=source.place(node), code=code, reason=str(error)))
            return False
        return True

    def _read_setting(self, source: Source, name: str, node: ast.expr) -> None:
        value, code = value_of(node), f"{name} = {code_of(node)}"
        if value is UNKNOWN and name in {*REFUSED, *MUST_BE, "task_routes"}:
            self._found.append(Gap(place=source.place(node), code=code, reason=NOT_CHECKED))
        elif value is not UNKNOWN and self._try(source, node, code, _app, {name: value}):
            self._settings[name] = value

    def _read_declaration(self, declaration: Declaration) -> None:
        source, function, keywords = declaration
        options: dict[str, Any] = {}
        name = value_of(keywords.get("name"))
        name = name if isinstance(name, str) else f"{source.module}.{function.name}"
        for word, node in keywords.items():
            value, code = value_of(node), f"{function.name}: {word}={code_of(node)}"
            if value is UNKNOWN and (word in DeclaredOptions.__dataclass_fields__ or word == "**"):
                continue
            if self._try(source, node, code, parse_declaration, name, {word: value}):
                options[word] = value
        app = _app(self._settings)
        app.task(_stub(function), **(options | {"name": name}))
        self._try(source, function, f"def {function.name}", app.finalize)
        if options.get("bind") is True and function.args.args:
            self._read_self(source, function)

    def _read_self(self, source: Source, function: Function) -> None:
        own = function.args.args[0].arg
        for node in ast.walk(function):
            match node:
                case ast.Attribute(value=ast.Name(id=name), attr=word) if name == own and not hasattr(Task, word):
                    self._found.append(Gap(place=source.place(node), code=code_of(node), reason=_of_a_task(word)))
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="retry")) if name == own:
                    words = {word: value_of(each) for word, each in options_of(node).items()}
                    throw = words.get("throw") is not False
                    args, kwargs = words.get("args"), words.get("kwargs")
                    self._try(source, node, code_of(node), require_retry_arguments, args, kwargs, throw=throw)

    def _read_entry(self, source: Source, name: str, entry: ast.expr) -> None:
        options = dict(entries_of(entry)).get("options")
        for word, node in entries_of(options) if options is not None else ():
            tried = {"task": "task", "schedule": 1.0, "options": {word: value_of(node)}}
            app = _app(self._settings | {"beat_schedule": {name: tried}})
            self._try(source, node, f"schedule {name}: {word}={code_of(node)}", app.finalize)

    def _read_import(self, source: Source, node: ast.Import | ast.ImportFrom) -> None:
        names = [(alias.name, "") for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            names = [(node.module or "", alias.name) for alias in node.names if not node.level]
        for module, name in names:
            if module.partition(".")[0] == "celery":
                self._try(source, node, code_of(node), _require, module, name)

    def _read_call(self, source: Source, node: ast.Call) -> None:
        if self._reader.findings.full_name(source, node.func) == "celery.schedules.crontab":
            parts = parts_of_a_crontab(node)
            if UNKNOWN not in parts.values():
                self._try(source, node, code_of(node), crontab, **parts)
        if self._reader.findings.full_name(source, node.func) == "celery.Celery":
            for word, each in options_of(node).items():
                code = f"Celery({word}={code_of(each)})"
                if word not in SETTINGS_OF_CELERY:
                    self._try(source, each, code, Celery, set_as_current=False, **{word: None})
        if isinstance(node.func, ast.Attribute) and node.func.attr in {"apply_async", "send_task"}:
            for word, each in options_of(node).items():
                value = value_of(each)
                if word in {"**", "args", "connection", "kwargs", "link", "name"}:
                    continue
                if value is not UNKNOWN or word not in call_options():
                    code, conf = f"{word}={code_of(each)}", _app(self._settings).conf
                    self._try(source, each, code, options_of_a_call, {word: value}, DeclaredOptions(), conf)

    def _read_attribute(self, source: Source, node: ast.Attribute, results: Collection[str]) -> None:
        value, word, findings = node.value, node.attr, self._reader.findings
        if findings.task_of(source, value) and not hasattr(Task, word):
            self._found.append(Gap(place=source.place(node), code=code_of(node), reason=_of_a_task(word)))
        elif (_is_result(value) or code_of(value) in results) and word != "id" and not hasattr(AsyncResult, word):
            reason = sentence(word, OF_A_RESULT, AsyncResult)
            self._found.append(Gap(place=source.place(node), code=code_of(node), reason=reason))
        elif self._is_app(source, value) and not hasattr(Celery, word):
            self._try(source, node, code_of(node), getattr, _app({}), word)
        elif isinstance(value, ast.Attribute) and value.attr == "control" and self._is_app(source, value.value):
            self._try(source, node, code_of(node), getattr, _app({}).control, word)

    def _is_app(self, source: Source, node: ast.expr) -> bool:
        return self._reader.findings.full_name(source, node) in self._reader.settings.apps


def _of_a_task(word: str) -> str:
    return sentence(word, OF_A_TASK, Task)


def _app(settings: Mapping[str, Any]) -> Celery:
    app = Celery("check", set_as_current=False)
    app.conf.update({name: value for name, value in settings.items() if name not in {"imports", "include"}})
    return app


def _stub(function: Function) -> Callable[..., Any]:
    """Return an empty function with the names of the parameters."""
    arguments = function.args
    plain = ast.arguments(
        posonlyargs=[ast.arg(each.arg) for each in arguments.posonlyargs],
        args=[ast.arg(each.arg) for each in arguments.args],
        vararg=ast.arg(arguments.vararg.arg) if arguments.vararg else None,
        kwonlyargs=[ast.arg(each.arg) for each in arguments.kwonlyargs],
        kw_defaults=[None if each is None else ast.Constant(None) for each in arguments.kw_defaults],
        kwarg=ast.arg(arguments.kwarg.arg) if arguments.kwarg else None,
        defaults=[ast.Constant(None) for _ in arguments.defaults],
    )
    kind = type(function)
    stub = kind(name=function.name, args=plain, body=[ast.Pass()], decorator_list=[])
    names: dict[str, Any] = {}
    module = ast.fix_missing_locations(ast.Module(body=[stub], type_ignores=[]))
    exec(compile(module, "stub", "exec"), names)  # noqa: S102 - names without annotations, defaults and statements
    made: Callable[..., Any] = names[function.name]
    return made


def _require(module: str, name: str) -> None:
    try:
        found = import_module(f"rolecall.{module}")
    except ModuleNotFoundError:
        raise ImportError(f"{module} has no equivalent: rolecall.celery does not provide it") from None
    if name not in {"", "*"} and not hasattr(found, name):
        _require(f"{module}.{name}", "")


def _results(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and _is_result(node.value):
            yield from node.targets


def _is_result(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in RESULTS
