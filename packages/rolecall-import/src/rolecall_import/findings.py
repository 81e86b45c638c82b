"""The findings of a reader, and the meaning of names."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from rolecall_import.inventory import FoundCall, FoundSchedule, FoundTask, Gap, Inventory
from rolecall_import.reading import code_of
from rolecall_import.sources import Function, Source, Sources


class Findings:
    """The findings of a reader, and the meaning of names."""

    def __init__(self, system: str, sources: Sources) -> None:
        self.sources = sources
        self.inventory = Inventory(system=system, files=len(sources.files), unread=sources.unread)
        # The nodes that a line of the output is about.
        self.recorded: set[ast.AST] = set()
        # By the full name of the function.
        self._functions: dict[str, FoundTask] = {}

    def add(self, source: Source, function: Function, task: FoundTask) -> None:
        """Record the task of a function."""
        self.recorded.add(function)
        self._functions[f"{source.module}.{function.name}"] = task
        self.inventory.tasks.append(task)

    def task_of(self, source: Source, node: ast.AST) -> FoundTask | None:
        """Return the task that a name refers to."""
        return self._functions.get(self.full_name(source, node))

    def full_name(self, source: Source, node: ast.AST) -> str:
        """Return the full name that a dotted name refers to, or an empty string for other code."""
        return self.sources.full_name(source, node) or ""

    def call(self, source: Source, node: ast.expr, instead: str) -> None:
        """Record a call and its replacement."""
        self.replacement(source, node, code_of(node), instead)

    def replacement(self, source: Source, node: ast.expr, code: str, instead: str) -> None:
        """Record the replacement of code that is not a call."""
        self.record(node)
        self.inventory.calls.append(FoundCall(place=source.place(node), code=code, instead=instead))

    def schedule(self, source: Source, node: ast.expr, name: str, task: str, words: Mapping[str, str]) -> None:
        """Record a schedule."""
        self.record(node)
        self.inventory.schedules.append(FoundSchedule(name=name, task=task, place=source.place(node), words=words))

    def record(self, node: ast.AST) -> None:
        """Mark a node and everything in it as read, because a line of the output is about it."""
        # The parser shares other nodes, such as Load, between all trees.
        self.recorded.update(each for each in ast.walk(node) if isinstance(each, ast.expr | ast.stmt))

    def gap(self, source: Source, node: ast.expr | ast.stmt, code: str, reason: str) -> None:
        """Record code without an equivalent."""
        self.record(node)
        self.inventory.gaps.append(Gap(place=source.place(node), code=code, reason=reason))
