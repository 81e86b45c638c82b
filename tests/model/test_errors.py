from __future__ import annotations

import re

import pytest

from rolecall.model import errors
from rolecall.model.error_table import ERROR_TABLE, ErrorRow, error_for_sqlstate, exit_code_for, http_status_for
from rolecall.model.errors import InvalidTask, RolecallError


def _tree(root: type[RolecallError]) -> set[type[RolecallError]]:
    return {root}.union(
        *(_tree(child) for child in root.__subclasses__() if child.__module__.startswith(errors.__name__))
    )


def test_every_error_has_one_row_in_the_table() -> None:
    rows = [row.error for row in ERROR_TABLE]

    assert len(rows) == len(set(rows))
    assert set(rows) == _tree(RolecallError)


def test_table_rows_do_not_hide_more_specific_rows_below() -> None:
    rows = [row.error for row in ERROR_TABLE]

    hidden = [low for n, low in enumerate(rows) if any(issubclass(low, high) for high in rows[:n])]

    assert hidden == []


def test_each_sqlstate_maps_to_one_error() -> None:
    states = [state for row in ERROR_TABLE for state in row.sqlstates]

    assert len(states) == len(set(states))


def test_each_sqlstate_can_be_converted_to_its_error() -> None:
    built = {state: error_for_sqlstate(state, "why") for row in ERROR_TABLE for state in row.sqlstates}

    assert {state: type(error) for state, error in built.items()} == {
        state: row.error for row in ERROR_TABLE for state in row.sqlstates
    }
    assert all("why" in error.problem for error in built.values() if error)


def test_unknown_sqlstate_maps_to_no_error() -> None:
    assert error_for_sqlstate("XX000", "why") is None
    assert error_for_sqlstate(None, "why") is None


def test_module_docstring_names_every_error() -> None:
    drawn = set(re.findall(r"\b[A-Z][A-Za-z]+\b", errors.__doc__ or ""))

    assert {error.__name__ for error in _tree(RolecallError)} <= drawn


def test_exit_code_of_every_error_is_nonzero() -> None:
    assert all(row.exit_code > 0 for row in ERROR_TABLE)


@pytest.mark.parametrize("row", ERROR_TABLE, ids=lambda row: row.error.__name__)
def test_exit_code_is_that_of_the_table_row(row: ErrorRow) -> None:
    bare = row.error.__new__(row.error)

    assert exit_code_for(bare) == row.exit_code


def test_http_status_of_every_error_is_a_failure() -> None:
    assert all(400 <= row.http_status < 600 for row in ERROR_TABLE)


def test_http_status_is_that_of_the_table_row() -> None:
    assert http_status_for(InvalidTask("no")) == 422


def test_invalid_task_error_contains_its_position_in_the_batch() -> None:
    assert str(InvalidTask("no", index=3)) == "task 3: no"
    assert InvalidTask("no", index=3).moved_by(20).index == 23
    assert InvalidTask("no").moved_by(20).index is None
