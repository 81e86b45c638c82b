"""Every specification row has an existing test, is exempt, or is waived here with a reason."""

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
CRAWLER_PARTS = {1: 8, 2: 9, 5: 10}
CRAWLER_TABLES = ("C3", "C4", "C6")
"""Tables of members, not of rows: a test proves such a table as a whole."""
PARTS = {1: 18, 2: 11, 3: 8, 4: 8, 5: 7, 6: 5, 7: 10, 8: 6, 9: 5, 10: 10, 11: 4}
ROWS = [
    *(f"000-{row}" for row in range(1, 35)),
    *(f"001-{row}" for row in (*range(1, 32), 33)),
    *(f"002-{row}" for row in range(1, 41)),
    *(f"003-{row}" for row in range(24, 29)),
    *(f"004-{row}" for row in range(1, 26)),
    *(f"B{part}-{row}" for part, rows in PARTS.items() for row in range(1, rows + 1)),
    *(f"B12-{row}" for row in range(1, 5)),
    *(f"B13-{row}" for row in range(2, 8)),
    *(f"C{part}-{row}" for part, rows in CRAWLER_PARTS.items() for row in range(1, rows + 1)),
    *CRAWLER_TABLES,
    *(f"B14-{row}" for row in range(1, 12)),
    *(f"E2-{row}" for row in range(1, 9)),
    *(f"E3-{row}" for row in range(1, 35)),
    *(f"E4-{row}" for row in range(1, 18)),
    *(f"E5-{row}" for row in (1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16)),
]
INVARIANTS = [str(number) for number in (*range(1, 24), 26, *range(29, 36))]
WAIVED: dict[str, str] = {
    "E3-14": "open: there is no hand-off through Redis yet; polling and Postgres are the ways that are there",
    "E3-15": "open: as E3-14",
    "E4-12": "open: as E3-14",
}
ROW = re.compile(r"\b(?:00[0-4]-\d+|[BC]\d+-\d+|C[346](?!-)|E[2-5]-\d+)\b")
CITATION = re.compile(
    r"\b(?:[Cc]overs|SPEC|RELIABILITY|[Ii]nvariants?) (?:00[0-4]|[BCEFS]?\d)"
    r"|\b(?:covers|SPEC|RELIABILITY)\b.*(?:00[0-4]-\d|\b[BCEFS]\d)"
    r"|\((?:00[0-4]-\d+|[BCE]\d+-\d+|[FST]\d{1,2})\)"
)
CODE = ("src", "apps", "packages", "bench", "deploy", "tests", "tools")
TEXT = (".py", ".sql", ".html", ".css", ".js", ".txt", ".toml", ".sh")


def test_every_row_of_the_specification_has_its_test() -> None:
    met = proofs()["specification"].keys() | WAIVED.keys() | needless_rows()

    assert [row for row in ROWS if row not in met] == []


def test_no_row_with_a_test_is_waived() -> None:
    assert WAIVED.keys() & proofs()["specification"].keys() == set()


def test_every_invariant_has_its_test() -> None:
    assert [invariant for invariant in INVARIANTS if invariant not in proofs()["invariants"]] == []


def test_every_test_named_as_proof_exists() -> None:
    named = {node for rows in proofs().values() for nodes in rows.values() for node in nodes}

    assert sorted(node for node in named if not exists(node)) == []


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
