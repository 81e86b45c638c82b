"""`rolecall errors`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.conftest import Run

Sql = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture
def group(cli: Run, sql: Sql) -> int:
    """The id of an error group with three failed tasks."""
    for number in range(3):
        cli("enqueue", "add")
        cli("tasks", "fail", number + 1, "--error", f"E: order {number}")
    sql("select rolecall.group_failures()")
    [[group_id]] = sql("select id from rolecall.error_groups")
    return int(group_id)


def test_error_groups_are_listed(cli: Run, group: int) -> None:
    [listed] = cli("errors", "list", "--state", "new", "--since", "1h", "--handler", "add", "--json").json["items"]

    assert (listed["id"], listed["type"], listed["message"], listed["failed"]) == (group, "E", "order *", 3)
    assert "E: order *" in cli("errors", "list").out
    assert cli("errors", "list", "--state", "muted").out == "no such errors\n"


def test_error_group_is_shown_with_a_latest_error(cli: Run, group: int) -> None:
    shown = cli("errors", "show", group, "--json").json

    assert (shown["failed_tasks"], shown["error"]) == (3, "E: order 2")
    assert "E: order 2" in cli("errors", "show", group).out


def test_error_group_is_muted_resolved_and_reopened(cli: Run, group: int) -> None:
    assert cli("errors", "mute", group).out == f"error group {group} is muted, was new\n"
    assert cli("errors", "resolve", group).out == f"error group {group} is resolved, was muted\n"
    assert cli("errors", "reopen", group, "--json").json == {"id": group, "state": "new", "was": "resolved"}


def test_failed_tasks_of_an_error_group_are_counted_and_retried(cli: Run, group: int) -> None:
    assert cli("errors", "retry", group, "--dry-run").out.split()[:3] == ["would", "retry", "3"]
    started = cli("errors", "retry", group, "--rate", 2, "--json").json
    assert (started["id"], started["total"], started["rate"]) == (1, 3, 2)
    assert "rolecall bulk stop 2" in cli("errors", "retry", group, "--delay", "1m").out


def test_tasks_are_filtered_by_error_group(cli: Run, group: int) -> None:
    cli("enqueue", "add")

    assert len(cli("tasks", "list", "--error-group", group, "--json").json["items"]) == 3


def test_unknown_error_group_is_reported(cli: Run) -> None:
    done = cli("errors", "show", 4711)

    assert (done.code, "there is no error group 4711" in done.err) == (4, True)
