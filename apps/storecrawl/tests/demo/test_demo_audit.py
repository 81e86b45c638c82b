"""The last look at a cycle: each thing that is missing is named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from storecrawl.demo.audit import Inventory, find_problems
from storecrawl.demo.figures import Figures
from storecrawl.demo.gaps import Gaps

FIGURES = Figures(stores=2, refreshed_stores=2, payloads=2, products=9, variants=9, snapshots=9, tasks={"completed": 6})
INVENTORY = Inventory(unapplied_payloads=0, snapshots=9, analysed_stores=2, paths=[], failure=None)


def problems(figures: Figures, inventory: Inventory, folder: Path, expected: int | None = 2) -> list[str]:
    return list(find_problems(inventory, Gaps(), figures, folder, expected))


def test_nothing_is_missing_from_a_whole_cycle(tmp_path: Path) -> None:
    assert problems(FIGURES, INVENTORY, tmp_path) == []


@pytest.mark.parametrize(
    ("figures", "inventory", "problem"),
    [
        ({"stores": 1}, {"analysed_stores": 1}, "1 stores were found, there are 2"),
        ({}, {"analysed_stores": 0}, "the views show 0 of 2 stores"),
        ({}, {"unapplied_payloads": 1}, "1 payloads were not turned into products"),
        ({"variants": 0}, {}, "9 products with 0 variants were found"),
        ({}, {"snapshots": 8}, "there are 8 snapshots, the payloads held 9 products"),
        ({}, {"paths": ["2026/a.json.gz"]}, "1 payload files are gone, the first of them is 2026/a.json.gz"),
        ({"tasks": {"pending": 3}}, {}, "3 tasks are still open"),
        ({"tasks": {"failed": 1}}, {"failure": "payload_fetch 4: HTTP 502"},
         "1 tasks failed, the first of them was payload_fetch 4: HTTP 502"),
    ],
)  # fmt: skip
def test_what_is_missing_is_named(
    tmp_path: Path, figures: dict[str, Any], inventory: dict[str, Any], problem: str
) -> None:
    found = problems(replace(FIGURES, **figures), replace(INVENTORY, **inventory), tmp_path)

    assert found == [problem]


def test_an_upstream_of_unknown_size_must_have_a_store_at_least(tmp_path: Path) -> None:
    nothing = Inventory(unapplied_payloads=0, snapshots=0, analysed_stores=0, paths=[], failure=None)

    assert problems(Figures(), nothing, tmp_path, expected=None) == ["no stores were found"]
