"""The pages about other systems have the same questions, and a source for each answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.comparisons import FOLDER, OVERVIEW, answers, versions, write_pages

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(file for file in (ROOT / FOLDER).glob("*.md") if file.name != OVERVIEW)


def test_tables_are_current() -> None:
    current = {file: file.read_text("utf-8") for file in (ROOT / FOLDER).glob("*.md")}

    assert current == write_pages(ROOT), "run `./dev compare`, and commit"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_names_the_versions_and_the_day_of_its_check(page: Path) -> None:
    compared, _day = versions(page.read_text("utf-8"), page.name)

    assert any(character.isdigit() for character in compared)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_answer_about_another_system_has_a_source(page: Path) -> None:
    theirs = answers(page.read_text("utf-8"), page.name)
    unsourced = [question for question, answer in theirs.items() if "][" not in answer]

    assert unsourced == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_source_is_an_address(page: Path) -> None:
    lines = [line for line in page.read_text("utf-8").splitlines() if line.startswith("[") and "]: " in line]

    assert [line for line in lines if "]: https://" not in line] == []
