"""Keeps everything short: functions, classes, modules, SQL files, and the number of parameters.

A `# sizes: why` on the `def` line allows a function more parameters, where each is a word of a public call or
an option of a command. Nothing allows a function more lines.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.offences import ROOT, Offence, project_files, report

FUNCTION_LINES = 50
CLASS_LINES = 250
MODULE_LINES = 400
TEST_LINES = 300
SQL_FUNCTION_LINES = 80
TEMPLATE_LINES = 60
PARAMETERS = 6
EXCUSED = re.compile(r"#\s*sizes:\s*\S")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def offences(root: Path) -> Iterator[Offence]:
    """Measure every file under the root."""
    for file in project_files(root, ".py", ".sql", ".html", "dev"):
        text = file.read_text()
        limit = most_lines(file.relative_to(root))
        if limit and (lines := len(text.splitlines())) > limit:
            yield Offence(file, lines, f"the file has {lines} lines, {limit} are allowed")
        if file.suffix in {".py", ""}:
            yield from code_offences(file, text)


def most_lines(file: Path) -> int:
    """How many lines a file may have; 0 means any number."""
    match file.suffix:
        case ".sql":
            return SQL_FUNCTION_LINES if "functions" in file.parts else 0
        case ".html":
            return TEMPLATE_LINES
        case _:
            return TEST_LINES if "tests" in file.parts else MODULE_LINES


def code_offences(file: Path, text: str) -> Iterator[Offence]:
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef) and (size := lines_of(node)) > CLASS_LINES:
            yield Offence(file, node.lineno, f"class {node.name} has {size} lines, {CLASS_LINES} are allowed")
        if isinstance(node, Function):
            yield from function_offences(file, node, excused=bool(EXCUSED.search(lines[node.lineno - 1])))


def function_offences(file: Path, node: Function, *, excused: bool) -> Iterator[Offence]:
    size, parameters = lines_of(node), parameters_of(node)
    if size > FUNCTION_LINES:
        yield Offence(file, node.lineno, f"{node.name}() has {size} lines, {FUNCTION_LINES} are allowed")
    if parameters > PARAMETERS and not excused:
        wrong = f"{node.name}() has {parameters} parameters, {PARAMETERS} are allowed (else an options value)"
        yield Offence(file, node.lineno, wrong)


def lines_of(node: Function | ast.ClassDef) -> int:
    """The lines from the `def` or `class` to the end, the docstring and the decorators left out."""
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    first = node.body[0]
    if ast.get_docstring(node, clean=False) is not None:
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines


def parameters_of(node: Function) -> int:
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return len([each for each in every if each.arg not in {"self", "cls"}])


if __name__ == "__main__":
    sys.exit(report(offences(ROOT), ROOT))
