"""`rolecall enqueue` with options about its dedupe key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.conftest import Run

Sql = Callable[..., list[tuple[Any, ...]]]

D = ("--dedupe-key", "d")
# Arguments, and a part of the one-line error.
REFUSED = [
    (("--dedupe-mode", "merge"), "dedupe requires a dedupe_key"),
    ((*D, "--dedupe-mode", "ignore"), "ignore"),
    ((*D, "--dedupe-scope", "all"), "all"),
    ((*D, "--window", "1h"), "only the scope any can have a window"),
    ((*D, "--dedupe-scope", "any", "--window", "soon"), "--window"),
    ((*D, "--dedupe-scope", "any", "--window", "0"), "must be 0.001 to 4e9 s"),
    ((*D, "--dedupe-mode", "replace", "--dedupe-scope", "open"), "its scope must be pending"),
]


def test_duplicate_is_merged_into_the_existing_task(cli: Run, sql: Sql) -> None:
    first = cli("enqueue", "add", '{"a": 1}', *D, "--json").json

    again = cli("enqueue", "add", '{"b": 2}', *D, "--dedupe-mode", "merge", "--json").json

    assert again == first | {"deduplicated": True}
    assert sql("select payload from rolecall.all_tasks") == [({"a": 1, "b": 2},)]


def test_duplicate_is_rejected_with_its_own_exit_code(cli: Run) -> None:
    task_id = cli("enqueue", "add", *D, "--json").json["id"]

    done = cli("enqueue", "add", *D, "--dedupe-mode", "error")

    assert (done.code, done.out) == (5, "")
    assert f"task {task_id} already has the dedupe_key 'd'" in done.err


def test_cancelled_task_still_counts_within_the_window(cli: Run, sql: Sql) -> None:
    throttled = ("enqueue", "add", *D, "--dedupe-scope", "any", "--window", "1h", "--json")
    task_id = cli(*throttled).json["id"]
    sql("select rolecall.cancel(array[%s::bigint])", task_id)

    assert cli(*throttled).json == {"id": task_id, "deduplicated": True}


@pytest.mark.parametrize(("arguments", "part"), REFUSED, ids=str)
def test_contradictory_options_are_rejected_and_store_nothing(
    cli: Run, sql: Sql, arguments: tuple[str, ...], part: str
) -> None:
    done = cli("enqueue", "add", *arguments)

    assert (done.code, done.out) == (2, "")
    assert part in done.err
    assert sql("select count(*) from rolecall.all_tasks") == [(0,)]
