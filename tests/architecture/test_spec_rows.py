"""Every row that this release must meet is cited by a test, or stands among the needless ones, or is waived here with the reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CRAWLER_PARTS = {1: 8, 2: 9, 5: 10}
CRAWLER_TABLES = ("C3", "C4", "C6")
"""Tables of members, not of rows: a test cites such a table as a whole."""
PARTS = {1: 18, 2: 11, 3: 8, 4: 8, 5: 7, 6: 5, 7: 10, 8: 6, 9: 5, 11: 4}
ROWS = [
    *(f"000-{row}" for row in range(1, 35)),
    *(f"001-{row}" for row in (*range(1, 32), 33)),
    *(f"002-{row}" for row in range(1, 41)),
    *(f"003-{row}" for row in range(24, 29)),
    *(f"004-{row}" for row in range(1, 26)),
    *(f"B{part}-{row}" for part, rows in PARTS.items() for row in range(1, rows + 1)),
    *(f"B12-{row}" for row in range(1, 5)),
    *(f"C{part}-{row}" for part, rows in CRAWLER_PARTS.items() for row in range(1, rows + 1)),
    *CRAWLER_TABLES,
    *(f"B14-{row}" for row in range(1, 12)),
    *(f"E5-{row}" for row in (1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16)),
]
INVARIANTS = range(1, 24)
NEEDLESS = ROOT / "docs" / "reference" / "spec-rows-needless.md"
WAIVED: dict[str, str] = {}
CITED_ROW = re.compile(r"\b(?:00[0-4]-\d+|[BC]\d+-\d+|C[346](?!-)|E5-\d+)\b")
CITED_INVARIANT = re.compile(r"\binvariants? ((?:\d+(?:, | and )?)+)")


@pytest.fixture(scope="module")
def tests() -> str:
    folders = (ROOT / "tests", ROOT / "apps" / "storecrawl" / "tests")
    files = (file for folder in folders for file in folder.rglob("test_*.py") if file != Path(__file__))
    return "\n".join(file.read_text("utf-8") for file in files)


def test_every_row_of_the_specification_has_its_test(tests: str) -> None:
    met = set(CITED_ROW.findall(tests)) | WAIVED.keys() | needless_rows()

    assert [row for row in ROWS if row not in met] == []


def test_no_row_is_waived_that_a_test_cites(tests: str) -> None:
    assert WAIVED.keys() & set(CITED_ROW.findall(tests)) == set()


def test_every_invariant_has_its_test(tests: str) -> None:
    cited = {int(number) for group in CITED_INVARIANT.findall(tests) for number in re.findall(r"\d+", group)}

    assert [invariant for invariant in INVARIANTS if invariant not in cited] == []


def needless_rows() -> set[str]:
    """Read the rows that the design makes needless: each is named with what stands in for it."""
    lines = [line.split("|") for line in NEEDLESS.read_text("utf-8").splitlines() if line.startswith("| ")]
    return {
        row
        for _, rows, _, why, instead, _ in lines
        for row in CITED_ROW.findall(rows)
        if why.strip() and instead.strip()
    }
