"""Reads the task classes of a Celery code base: their options become those of the tasks that use them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

from rolecall.celery.missing import MIDDLEWARE
from rolecall.celery.options import MOOT_OF_A_TASK, REFUSED_OF_A_TASK, DeclaredOptions
from rolecall_import.findings import Findings
from rolecall_import.reading import code_of, native
from rolecall_import.sources import Function, Source

OPTIONS = frozenset(DeclaredOptions.__dataclass_fields__) | MOOT_OF_A_TASK | REFUSED_OF_A_TASK.keys()
BASES = frozenset({"celery.Task", "celery.app.task.Task", "celery.task.Task"})
HOOKS = frozenset({"__call__", "after_return", "before_start", "on_failure", "on_retry", "on_success"})
RUNS = "a task that is a class: declare its run() as a function, and the code around it as middleware"
READ = "its options are written at the tasks that use it; a class of tasks has no equivalent"
METHOD = "a task has no methods: make it a function"


class TaskClasses:
    """The classes of tasks by full name."""

    def __init__(self, findings: Findings, apps: Collection[str]) -> None:
        self._findings = findings
        self._bases = {f"{app}.Task" for app in apps} | BASES
        self._classes: dict[str, tuple[Source, ast.ClassDef]] = {}

    def read(self) -> None:
        """Find the classes, and record each of their statements that no task takes over."""
        definitions = [*self._findings.sources.nested_definitions(ast.ClassDef, top=True)]
        found = True
        while found:
            new = {
                f"{source.module}.{kind.name}": (source, kind)
                for source, kind in definitions
                if any(self._is_task_class(source, base) for base in kind.bases)
            }
            found = new.keys() > self._classes.keys()
            self._classes |= new
        for source, kind in self._classes.values():
            self._report(source, kind)

    def options_of(self, source: Source, base: ast.expr) -> Mapping[str, ast.expr] | None:
        """Return the options of a class and those that it inherits, or None if it is not a known class."""
        found = self._classes.get(self._findings.full_name(source, base))
        if found is None:
            return {} if self._findings.full_name(source, base) in self._bases else None
        source, kind = found
        options: dict[str, ast.expr] = {}
        for each in reversed(kind.bases):
            options |= self.options_of(source, each) or {}
        return options | _options(kind)

    def _is_task_class(self, source: Source, base: ast.expr) -> bool:
        name = self._findings.full_name(source, base)
        return name in self._classes or name in self._bases

    def _report(self, source: Source, kind: ast.ClassDef) -> None:
        methods = {node.name: node for node in kind.body if isinstance(node, Function)}
        code = f"class {kind.name}({', '.join(map(code_of, kind.bases))})"
        for base in kind.bases:
            self._findings.record(base)
        self._findings.gap(source, kind.bases[0], code, RUNS if "run" in methods else READ)
        options = _options(kind).values()
        for statement in kind.body:
            if isinstance(statement, Function) and statement.name in HOOKS:
                self._findings.gap(source, statement, f"{kind.name}.{statement.name}", native(MIDDLEWARE))
            elif isinstance(statement, Function) and statement.name != "run":
                self._findings.gap(source, statement, f"{kind.name}.{statement.name}", METHOD)
            elif isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value not in options:
                self._findings.gap(source, statement, f"{kind.name}: {code_of(statement)}", READ)


def _options(kind: ast.ClassDef) -> dict[str, ast.expr]:
    options: dict[str, ast.expr] = {}
    for statement in kind.body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=value)
            ):
                if name in OPTIONS and value is not None:
                    options[name] = value
    return options
