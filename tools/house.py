"""Rejects text that must not be in the project: registry hosts, machine paths, secrets, the application's words.

A line of src/rolecall that needs one of the application's words gives the reason: `# house: why`.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

from tools.offences import ROOT, Offence, project_files, report

ENGINE = Path("src/rolecall")
MODEL = ENGINE / "model"
EVERYWHERE = {
    "contains a package registry, which belongs in the machine's settings": re.compile(
        r"https?://[^\s\"'<>]*(pypi|npmjs|registry|/simple\b)", re.IGNORECASE
    ),
    "contains a path of a single machine": re.compile(r"(?<![\w.~$}/-])/(root|work|home/\w+)/"),
    "looks like a secret": re.compile(
        r"-----BEGIN [A-Z ]*PRIVATE KEY|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_\w{30,}|\bxox[abp]-\w{10,}"
    ),
}
IN_LOCKS = {"is an address; lock files contain only names and hashes": re.compile(r"://|^\s*-(i|f|-\w*index|-find)")}
IN_ENGINE = {
    "is a word of the application or of another system": re.compile(
        r"dispensar|\bcrawl|storecrawl|\bmenus?\b|fingerprint|cannaiq|statbus|taskflow|queuert|dutchie",
        re.IGNORECASE,
    )
}
EXCUSED = re.compile(r"(#|--)\s*house:\s*\S")


def offences(root: Path) -> Iterator[Offence]:
    """Check every line of every file of the project."""
    for file in project_files(root):
        place = file.relative_to(root)
        try:
            text = file.read_text()
        except UnicodeDecodeError:
            continue
        yield from pattern_offences(file, text, rules_for(place))
        if place.is_relative_to(MODEL) and place.suffix == ".py":
            yield from foreign_imports(file, text)


def rules_for(place: Path) -> dict[str, re.Pattern[str]]:
    locks = IN_LOCKS if place.match("locks/*.lock") else {}
    return EVERYWHERE | locks | (IN_ENGINE if place.is_relative_to(ENGINE) else {})


def pattern_offences(file: Path, text: str, rules: dict[str, re.Pattern[str]]) -> Iterator[Offence]:
    for number, line in enumerate(text.splitlines(), start=1):
        for wrong, pattern in rules.items():
            if (found := pattern.search(line)) and not EXCUSED.search(line):
                yield Offence(file, number, f"{found[0]!r} {wrong}")


def foreign_imports(file: Path, text: str) -> Iterator[Offence]:
    """Find imports of the model that are from neither the standard library nor the model itself."""
    tree = ast.parse(text)
    unrun = {id(node) for node in ast.walk(tree) if is_for_checkers(node) for node in node.body}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for name in imported_names(node):
                if name == "typing_extensions" and id(node) in unrun:
                    continue  # provided by type checkers
                if not (name.startswith("rolecall.model") or name.partition(".")[0] in sys.stdlib_module_names):
                    yield Offence(file, node.lineno, f"the model imports {name}; it may only use the standard library")


def is_for_checkers(node: ast.AST) -> TypeGuard[ast.If]:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def imported_names(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [] if node.level == 1 else [node.module or "a parent package"]


if __name__ == "__main__":
    sys.exit(report(offences(ROOT), ROOT))
