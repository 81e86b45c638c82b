"""Lists every statement that a reader did not translate, so that nothing of a code base is lost silently."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping

from rolecall_import.findings import Findings
from rolecall_import.inventory import Place, Statement
from rolecall_import.reading import code_of
from rolecall_import.sources import Function, Source, count_statements

Block = ast.AsyncFor | ast.AsyncWith | ast.For | ast.If | ast.Match | ast.Try | ast.While | ast.With
Compound = Block | ast.ClassDef | Function
UNKNOWN_NAME = "it is not translated: see what it does, and whether the new code needs it"


def add_rest(findings: Findings, *, uses: Callable[[str], bool], hints: Mapping[str, str]) -> None:
    """Record what is left once everything else is recorded.

    A statement that refers to a name of the other system (`uses`) becomes a gap, with the hint of the longest matching
    name. The other statements of such a file are listed, and of other files only their number.
    """
    for source in findings.sources.files:
        found = [
            (statement, part, name)
            for statement, part in _parts(source.tree)
            for name in _names(findings, source, part)
            if uses(name)
        ]
        reasons: dict[ast.expr | ast.stmt, str] = {}
        for statement, part, name in found:
            whole = part if isinstance(statement, Compound) else statement
            reasons[whole] = "; ".join(dict.fromkeys([*filter(None, [reasons.get(whole)]), _hint(name, hints)]))
        for whole, reason in reasons.items():
            findings.gap(source, whole, code_of(whole), reason)
        findings.inventory.rest += _left(findings, source, uses)


def _parts(tree: ast.AST) -> Iterator[tuple[ast.stmt, ast.expr]]:
    """Yield every statement with each of its expressions."""
    for statement in ast.walk(tree):
        if isinstance(statement, ast.stmt) and not isinstance(statement, ast.Import | ast.ImportFrom):
            yield from ((statement, part) for part in _expressions(statement))


def _expressions(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the outermost expressions of a node, without those of inner statements."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield child
        elif not isinstance(child, ast.stmt):
            yield from _expressions(child)


def _names(findings: Findings, source: Source, node: ast.AST) -> Iterator[str]:
    """Yield the full names in a part of a statement that no finding has recorded."""
    if node in findings.recorded:
        return
    if isinstance(node, ast.Name | ast.Attribute) and (name := findings.full_name(source, node)):
        yield name
        return
    for child in ast.iter_child_nodes(node):
        yield from _names(findings, source, child)


def _hint(name: str, hints: Mapping[str, str]) -> str:
    parts = name.split(".")
    longest = (".".join(parts[:size]) for size in range(len(parts), 0, -1))
    return next((hints[each] for each in longest if each in hints), UNKNOWN_NAME)


def _left(findings: Findings, source: Source, uses: Callable[[str], bool]) -> Iterator[Statement]:
    if not _mentions(findings, source, uses):
        if source.tree.body:
            yield Statement(place=Place(source.file, 1), code="", statements=count_statements(source.tree.body))
        return
    for statement in source.tree.body:
        if not (_is_formal(source, statement) or _is_recorded(findings, statement)):
            code = code_of(statement)
            if isinstance(statement, Compound):
                code = ast.unparse(statement).partition(":\n")[0].splitlines()[-1] + ":"
            yield Statement(place=source.place(statement), code=code, statements=count_statements([statement]))


def _mentions(findings: Findings, source: Source, uses: Callable[[str], bool]) -> bool:
    return any(node in findings.recorded for node in ast.walk(source.tree)) or any(map(uses, source.names.values()))


def _is_formal(source: Source, statement: ast.stmt) -> bool:
    """Return whether it is the docstring of the file, a `from __future__` import or `pass`."""
    if isinstance(statement, ast.ImportFrom | ast.Pass):
        return getattr(statement, "module", "__future__") == "__future__"
    return statement is source.tree.body[0] and ast.get_docstring(source.tree) is not None


def _is_recorded(findings: Findings, statement: ast.stmt) -> bool:
    """Return whether another line of the output is about this statement."""
    if statement in findings.recorded:
        return True
    return not isinstance(statement, Compound) and any(node in findings.recorded for node in ast.walk(statement))
