"""Pages of rows ordered by id."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from rolecall.model.operator.pages import Page, page_by_id, position


@dataclass(frozen=True)
class Row:
    id: int


ROWS = [Row(id=each) for each in (5, 3, 2)]


@pytest.mark.parametrize("found", [0, 1, 2])
def test_last_page_has_no_next_cursor_even_if_it_is_full(found: int) -> None:
    assert page_by_id(ROWS[:found], 2) == Page(items=ROWS[:found], next_cursor=None)


def test_next_page_starts_after_the_last_row_shown() -> None:
    page = page_by_id(ROWS, 2)

    assert (page.items, position(page.next_cursor)) == (ROWS[:2], 3)
