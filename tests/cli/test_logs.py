"""`rolecall tasks logs`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.conftest import Run

Sql = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture
def task_id(cli: Run, sql: Sql) -> int:
    """The id of a finished task with two lines."""
    cli("enqueue", "add")
    cli("tasks", "complete", 1)
    lines = [[1, 0, 20, "shop", "first"], [2, 1, 40, "shop", "second"]]
    part = {"task_id": 1, "fence": 1, "attempt": 1, "part": 1, "lines": lines}
    sql("select rolecall.write_logs(%s)", json.dumps([part]))
    return 1


def test_lines_are_printed_with_time_attempt_level_and_logger(cli: Run, task_id: int) -> None:
    out = cli("tasks", "logs", task_id).out

    assert out.splitlines() == [
        "1970-01-01T00:00:00.000+00:00 1 INFO shop first",
        "1970-01-01T00:00:01.000+00:00 1 ERROR shop second",
    ]
    assert cli("tasks", "logs", task_id, "--level", "error", "--json").json["items"][0]["message"] == "second"
    assert cli("tasks", "logs", task_id, "--attempt", 2).out == "no log lines\n"


def test_follow_ends_after_the_lines_of_a_finished_task(cli: Run, task_id: int) -> None:
    assert cli("tasks", "logs", task_id, "--follow").out.count("\n") == 2


def test_stack_of_a_task_that_does_not_run_is_not_requested(cli: Run, task_id: int) -> None:
    assert cli("tasks", "stack", task_id).out == f"task {task_id} does not run\n"
