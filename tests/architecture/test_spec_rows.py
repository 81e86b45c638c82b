"""Every specification row has an existing test or is listed as needless with its replacement."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROOFS = ROOT / "tests" / "proofs.toml"
GUARANTEES = ROOT / "docs" / "guarantees.md"
NEEDLESS = ROOT / "docs" / "reference" / "spec-rows-needless.md"
ROWS = [
    row
    for line in (Path(__file__).parent / "spec_rows.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
    for row in line.split()
]
INVARIANTS = [str(number) for number in (*range(1, 24), 26, *range(29, 36))]
ROW = re.compile(r"\b(?:00[0-4]-\d+|[BC]\d+-\d+|C[346](?!-)|E[2-5]-\d+)\b")
CITATION = re.compile(
    r"\b(?:[Cc]overs|SPEC|RELIABILITY|[Ii]nvariants?) (?:00[0-4]|[BCEFS]?\d)"
    r"|\b(?:covers|SPEC|RELIABILITY)\b.*(?:00[0-4]-\d|\b[BCEFS]\d)"
    r"|\((?:00[0-4]-\d+|[BCE]\d+-\d+|[FST]\d{1,2})\)"
)
FILE = re.compile(r"\b(?:apps/storecrawl/)?(?:tests|docs|bench|src)/[\w/-]*\w(?:\.\w+)?")
CODE = ("src", "apps", "packages", "bench", "deploy", "tests", "tools")
TEXT = (".py", ".sql", ".html", ".css", ".js", ".txt", ".toml", ".sh")


def test_every_row_of_the_specification_has_its_test() -> None:
    met = proofs()["specification"].keys() | needless_rows()

    assert [row for row in ROWS if row not in met] == []


def test_every_proven_row_is_in_the_specification() -> None:
    assert proofs()["specification"].keys() - set(ROWS) == set()


def test_every_invariant_has_its_test() -> None:
    assert [invariant for invariant in INVARIANTS if invariant not in proofs()["invariants"]] == []


def test_every_test_named_as_proof_exists() -> None:
    named = {node for rows in proofs().values() for nodes in rows.values() for node in nodes}

    assert sorted(node for node in named if not exists(node)) == []


def test_every_file_named_as_a_replacement_exists() -> None:
    """A row is needless only while its replacement exists."""
    named = set(FILE.findall(NEEDLESS.read_text("utf-8")))

    assert sorted(name for name in named if not (ROOT / name).exists()) == []


def test_every_row_names_a_test() -> None:
    assert [row for rows in proofs().values() for row, nodes in rows.items() if not nodes] == []


def test_code_and_tests_do_not_cite_rows() -> None:
    """The tests of a row are listed in proofs.toml. A citation elsewhere would be a dead end."""
    files = (file for folder in CODE for file in (ROOT / folder).rglob("*") if file.suffix in TEXT)
    cited = [
        f"{file.relative_to(ROOT)}: {line.strip()}"
        for file in files
        if file not in {PROOFS, Path(__file__)} and "node_modules" not in file.parts
        for line in file.read_text("utf-8").splitlines()
        if CITATION.search(line)
    ]

    assert cited == []


def test_every_promise_has_existing_tests() -> None:
    """The promises have the numbers of the invariants, and each names its own tests."""
    promises = re.findall(r"^### (\d+)\. .*\n((?:(?!#).*\n?)*)", GUARANTEES.read_text("utf-8"), re.MULTILINE)
    named = {number: re.findall(r"^- `(.+)`$", text, re.MULTILINE) for number, text in promises}

    assert named.keys() == proofs()["invariants"].keys()
    assert [number for number, nodes in named.items() if not nodes] == []
    assert sorted(node for nodes in named.values() for node in nodes if not exists(node)) == []


@cache
def proofs() -> dict[str, dict[str, list[str]]]:
    return tomllib.loads(PROOFS.read_text("utf-8"))


def exists(node: str) -> bool:
    """Return whether a node id names an existing test file or test."""
    file, _, name = node.partition("::")
    return (ROOT / file).is_file() and (not name or name in names_in(ROOT / file))


@cache
def names_in(file: Path) -> set[str]:
    """Return the names of a file's tests, those of a class as `Class::test`."""
    body = ast.parse(file.read_text("utf-8")).body
    classes = [node for node in body if isinstance(node, ast.ClassDef)]
    return {node.name for node in functions(body)} | {
        name
        for kind in classes
        for name in (kind.name, *(f"{kind.name}::{node.name}" for node in functions(kind.body)))
    }


def functions(body: list[ast.stmt]) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [
        node
        for node in body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    ]


def needless_rows() -> set[str]:
    """Return the rows that the design makes needless. Each is listed with its substitute."""
    lines = [line.split("|") for line in NEEDLESS.read_text("utf-8").splitlines() if line.startswith("| ")]
    return {
        row for _, rows, _, why, instead, _ in lines for row in ROW.findall(rows) if why.strip() and instead.strip()
    }
