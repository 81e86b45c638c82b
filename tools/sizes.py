"""Limits the length of functions and modules, and the number of parameters.

`# sizes: why` on the `def` line allows a function more parameters, if each is a word of a public call or an option
of a command. On a separate line, it allows a module more lines. Functions cannot be exempted from their limit.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.offences import ROOT, Offence, project_files, report

FUNCTION_LINES = 50
MODULE_LINES = 400
PARAMETERS = 6
EXCUSED = re.compile(r"#\s*sizes:\s*\S")
LONG_MODULE = re.compile(r"^# sizes: \S", re.MULTILINE)

Function = ast.FunctionDef | ast.AsyncFunctionDef


def offences(root: Path) -> Iterator[Offence]:
    """Measure every file below the root."""
    for file in project_files(root, ".py", "dev"):
        text = file.read_text()
        lines = len(text.splitlines())
        excused = "tests" in file.relative_to(root).parts or LONG_MODULE.search(text)
        if lines > MODULE_LINES and not excused:
            yield Offence(file, lines, f"the file has {lines} lines, {MODULE_LINES} are allowed")
        yield from code_offences(file, text)


def code_offences(file: Path, text: str) -> Iterator[Offence]:
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, Function):
            yield from function_offences(file, node, excused=bool(EXCUSED.search(lines[node.lineno - 1])))


def function_offences(file: Path, node: Function, *, excused: bool) -> Iterator[Offence]:
    size, parameters = lines_of(node), parameters_of(node)
    if size > FUNCTION_LINES:
        yield Offence(file, node.lineno, f"{node.name}() has {size} lines, {FUNCTION_LINES} are allowed")
    if parameters > PARAMETERS and not excused:
        wrong = f"{node.name}() has {parameters} parameters, {PARAMETERS} are allowed (use an options object)"
        yield Offence(file, node.lineno, wrong)


def lines_of(node: Function) -> int:
    """Return the number of lines from the `def` to the end, without the docstring and the decorators."""
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
