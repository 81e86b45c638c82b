"""`rolecall schedules`: list, put, trigger, delete."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.conftest import Run

Sql = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture
def nightly(cli: Run) -> Any:
    arguments = ["--every", "1d", "--handler", "add", "--payload", '{"a": 1}', "--priority", "5"]
    return cli("schedules", "put", "nightly", *arguments, "--json").json


def test_a_new_schedule_is_stored_as_said(nightly: Any, cli: Run) -> None:
    """Covers SPEC 001-6"""
    assert nightly["every"] == 86_400
    assert (nightly["handler"], nightly["role"], nightly["payload"]) == ("add", "sums", {"a": 1})
    assert (nightly["priority"], nightly["enabled"], nightly["last_run_at"]) == (5, True, None)
    assert cli("schedules", "list", "--json").json == [nightly]


def test_a_change_leaves_what_it_does_not_say(nightly: Any, cli: Run) -> None:
    """Covers SPEC 001-11"""
    changed = cli("schedules", "put", "nightly", "--disabled", "--json").json

    assert changed == nightly | {"enabled": False}


def test_another_handler_brings_its_own_role(nightly: Any, cli: Run, sql: Sql) -> None:
    sql("""select rolecall.declare('[{"name": "mail"}]', '[{"name": "greet", "role": "mail"}]')""")

    changed = cli("schedules", "put", "nightly", "--handler", "greet", "--json").json

    assert (changed["handler"], changed["role"]) == ("greet", "mail")


def test_run_now_twice_gives_the_same_open_task(nightly: Any, cli: Run) -> None:
    """Covers SPEC 001-11"""
    first = cli("schedules", "trigger", "nightly", "--json").json

    assert first == {"schedule": "nightly", "task_id": first["task_id"]}
    assert cli("schedules", "trigger", "nightly", "--json").json == first
    assert len(cli("tasks", "list", "--json").json) == 1


def test_a_deleted_schedule_is_gone(nightly: Any, cli: Run) -> None:
    assert cli("schedules", "delete", "nightly", "--json").json == {"deleted": "nightly"}
    assert cli("schedules", "list").out == "no schedules\n"


def test_the_table_names_the_schedules(nightly: Any, cli: Run) -> None:
    assert "nightly" in cli("schedules", "list").out
    assert "nightly" in cli("schedules", "put", "nightly", "--enabled").out


@pytest.mark.parametrize("verb", ["trigger", "delete"])
def test_a_schedule_that_is_not_there_ends_with_code_4(cli: Run, verb: str) -> None:
    done = cli("schedules", verb, "daily")

    assert done.code == 4
    assert "daily" in done.err


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        (["--handler", "add"], 2, "needs an interval"),
        (["--handler", "add", "--every", "0"], 2, "every is 1 to"),
        (["--handler", "add", "--every", "often"], 2, "--every"),
        (["--handler", "add", "--every", "inf"], 2, "inf"),
        (["--handler", "add", "--every", "1h", "--payload", "[]"], 2, "a list"),
        (["--handler", "add", "--every", "1h", "--payload", '{"a": "\\u0000"}'], 2, "NUL"),
        (["--handler", "add", "--every", "1h", "--priority", "200"], 2, "priority"),
        (["--handler", "add", "--every", "1h", "--first-run", "never"], 2, "not a date"),
        (["--handler", "ad", "--every", "1h"], 4, "did you mean 'add'?"),
        (["--every", "1h"], 4, "neither role nor handler"),
    ],
)
def test_a_schedule_that_cannot_work_is_refused(cli: Run, arguments: list[str], code: int, part: str) -> None:
    done = cli("schedules", "put", "odd", *arguments)

    assert (done.code, len(done.err.splitlines())) == (code, 1)
    assert part in done.err
    assert cli("schedules", "list", "--json").json == []
