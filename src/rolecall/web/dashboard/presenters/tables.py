"""Sorted tables: rows filtered by name, sorted by a column that the address names, and shown page by page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Annotated, Any, Generic, TypeVar

from fastapi import Depends, Query

from rolecall.model.errors import FilterError
from rolecall.web.dashboard.presenters.lists import ListPage, PageNumber, page_of
from rolecall.web.fields.parameters import SearchText

T = TypeVar("T")
# So that a page is at most 5,000 pixels long, also on a phone.
ROWS_A_PAGE = 25
NUMBERS = re.compile(r"([0-9]{1,18})")
REVERSE = "-"
SortText = Annotated[str, Query(max_length=50, description="A column; with a minus, its best rows come first.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableQuery:
    """The part of an address that describes a table."""

    q: str = ""
    sort: str = ""
    page: int = 1


def _read_table_query(q: SearchText = "", sort: SortText = "", page: PageNumber = 1) -> TableQuery:
    return TableQuery(q=q.strip(), sort=sort, page=page)


AskedTable = Annotated[TableQuery, Depends(_read_table_query)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column(Generic[T]):
    """A column, and the value by which it sorts rows; None does not sort.

    The worst rows come first: the largest values, with `smallest_first` the smallest ones. Rows without a value come
    last.
    """

    name: str
    label: str
    key: Callable[[T], Any] | None = None
    is_number: bool = True
    smallest_first: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SortedTable(Generic[T]):
    """One page of a table. `sort` is its column, with a minus if the best rows come first."""

    columns: Sequence[Column[T]]
    page: ListPage[T]
    sort: str
    q: str
    total: int

    @property
    def labels(self) -> Mapping[str, str]:
        """The label of each column, for screens that are too narrow for a head."""
        return {column.name: column.label for column in self.columns}

    def next_sort(self, column: Column[T]) -> str:
        """Return the order after a click on the column's head: worst rows first, then best rows first."""
        return REVERSE + column.name if self.sort == column.name else column.name

    def direction(self, column: Column[T]) -> str:
        """Return the column's value of aria-sort."""
        if self.sort.removeprefix(REVERSE) != column.name:
            return "none"
        return "ascending" if column.smallest_first != self.sort.startswith(REVERSE) else "descending"


def sorted_table(
    columns: Sequence[Column[T]],
    rows: Iterable[T],
    query: TableQuery,
    *,
    name: Callable[[T], str],
    default: str,
) -> SortedTable[T]:
    """Filter rows by their name, sort them, and return a page. Raises FilterError for a column that does not sort."""
    everything = sorted(rows, key=lambda row: natural_key(name(row)))
    matching = [row for row in everything if query.q.lower() in name(row).lower()]
    sort = query.sort or default
    ordered = _sort(matching, _column_of(columns, sort), reverse=sort.startswith(REVERSE))
    page = page_of(ordered, query.page, ROWS_A_PAGE)
    return SortedTable(columns=columns, page=page, sort=sort, q=query.q, total=len(everything))


def natural_key(name: str) -> list[tuple[int, str]]:
    """Return a sort key by the numbers in a name: `worker-2` comes before `worker-10`."""
    pieces = NUMBERS.split(name)
    return [(int(piece) if index % 2 else 0, piece) for index, piece in enumerate(pieces)]


def _column_of(columns: Sequence[Column[T]], sort: str) -> Column[T]:
    known = {column.name: column for column in columns if column.key is not None}
    if (column := known.get(sort.removeprefix(REVERSE))) is None:
        raise FilterError(f"the table cannot be sorted by {sort!r}; it has the columns {', '.join(known)}")
    return column


def _sort(rows: Sequence[T], column: Column[T], *, reverse: bool) -> list[T]:
    valued: list[tuple[Any, T]] = [(column.key(row) if column.key else None, row) for row in rows]
    known = [each for each in valued if each[0] is not None]
    known.sort(key=itemgetter(0), reverse=column.smallest_first == reverse)
    return [row for _, row in known] + [row for value, row in valued if value is None]
