"""Sorted tables: filtered, sorted by a column of the address, and paged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import httpx2
import pytest

from rolecall.model.errors import FilterError
from rolecall.web.dashboard.presenters.tables import Column, SortedTable, TableQuery, sorted_table
from tests.dashboard.crews import join
from tests.sql.engine import Engine


@dataclass(frozen=True)
class Row:
    name: str
    failed: int | None = None
    free: int = 0


COLUMNS: Sequence[Column[Row]] = (
    Column(name="failed", label="Failed", key=lambda row: row.failed),
    Column(name="free", label="Free", key=lambda row: row.free, smallest_first=True),
    Column(name="words", label="Words"),
)
ROWS = [Row("b-10", failed=1, free=3), Row("b-9", failed=5, free=2), Row("a", free=1)]


def table(rows: list[Row] = ROWS, **query: object) -> SortedTable[Row]:
    return sorted_table(COLUMNS, rows, TableQuery(**query), name=lambda row: row.name, default="failed")  # type: ignore[arg-type]


def names(found: SortedTable[Row]) -> list[str]:
    return [row.name for row in found.page.items]


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("", ["b-9", "b-10", "a"]),
        ("failed", ["b-9", "b-10", "a"]),
        ("-failed", ["b-10", "b-9", "a"]),
        ("free", ["a", "b-9", "b-10"]),
        ("-free", ["b-10", "b-9", "a"]),
    ],
)
def test_worst_rows_come_first_and_rows_without_a_value_last(sort: str, order: list[str]) -> None:
    assert names(table(sort=sort)) == order


def test_equal_rows_are_in_natural_order() -> None:
    assert names(table([Row("w-10"), Row("w-9"), Row("w-100")])) == ["w-9", "w-10", "w-100"]


def test_rows_are_filtered_by_name_without_regard_to_case() -> None:
    assert names(table(q="B-1")) == ["b-10"]


@pytest.mark.parametrize("sort", ["words", "unknown", "--failed"])
def test_column_that_does_not_sort_is_rejected(sort: str) -> None:
    with pytest.raises(FilterError, match="it has the columns failed, free"):
        table(sort=sort)


def test_second_click_on_a_column_reverses_it() -> None:
    assert [table(sort=sort).next_sort(COLUMNS[0]) for sort in ("", "failed", "-failed", "free")] == [
        "-failed",
        "-failed",
        "failed",
        "failed",
    ]


@pytest.mark.parametrize("address", ["/", "/roles", "/capacity"])
async def test_roles_are_sorted_by_the_column_of_the_address(
    pool: Engine, http: httpx2.AsyncClient, address: str
) -> None:
    pool.enqueue_many([{"role": "sums", "handler": "add"}] * 3)
    pool.enqueue("letters", handler="post")

    worst, best = [(await http.get(f"{address}?sort={sort}")).text for sort in ("ready", "-ready")]

    assert worst.index('id="role-sums"') < worst.index('id="role-letters"')
    assert best.index('id="role-sums"') > best.index('id="role-letters"')


async def test_overview_keeps_its_time_span_when_it_is_sorted(pool: Engine, http: httpx2.AsyncClient) -> None:
    assert pool.value("select 1") == 1

    assert 'href="/?minutes=10&amp;sort=ready"' in (await http.get("/?minutes=10")).text


async def test_workers_are_sorted_by_the_column_of_the_address(pool: Engine, http: httpx2.AsyncClient) -> None:
    join(pool, "calm", memory=0.1)
    join(pool, "full", memory=0.9)

    page = (await http.get("/admin/workers?sort=load")).text

    assert page.index(">full<") < page.index(">calm<")


async def test_workers_are_filtered_by_name(pool: Engine, http: httpx2.AsyncClient) -> None:
    join(pool, "north")
    join(pool, "south")

    page = (await http.get("/admin/workers?q=NOR")).text

    assert ">north<" in page
    assert ">south<" not in page


async def test_unknown_column_in_the_address_is_reported(pool: Engine, http: httpx2.AsyncClient) -> None:
    assert pool.value("select 1") == 1
    answer = await http.get("/roles?sort=colour")

    assert answer.status_code == 422
    assert "cannot be sorted by" in answer.text
