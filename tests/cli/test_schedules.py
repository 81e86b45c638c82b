"""`rolecall schedules`: list, show, put, trigger, preview, runs, enable, disable, delete."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.cli.conftest import Run

Sql = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture
def nightly(cli: Run) -> Any:
    arguments = ["--every", "1d", "--handler", "add", "--payload", '{"a": 1}', "--priority", "5"]
    return cli("schedules", "put", "nightly", *arguments, "--json").json


def test_new_schedule_is_stored_as_given(nightly: Any, cli: Run) -> None:
    assert nightly["every"] == 86_400
    assert (nightly["handler"], nightly["role"], nightly["payload"]) == ("add", "sums", {"a": 1})
    assert (nightly["priority"], nightly["enabled"], nightly["last_run_at"]) == (5, True, None)
    assert cli("schedules", "list", "--json").json == [nightly]


def test_change_preserves_unspecified_fields(nightly: Any, cli: Run) -> None:
    changed = cli("schedules", "put", "nightly", "--disabled", "--json").json

    result = {"enabled": False, "revision": 2, "edited_at": changed["edited_at"]}
    assert changed == nightly | result
    assert changed["edited_at"] is not None


def test_new_handler_changes_the_role_of_the_schedule(nightly: Any, cli: Run, sql: Sql) -> None:
    sql("""select rolecall.declare('[{"name": "mail"}]', '[{"name": "greet", "role": "mail"}]')""")

    changed = cli("schedules", "put", "nightly", "--handler", "greet", "--json").json

    assert (changed["handler"], changed["role"]) == ("greet", "mail")


def test_run_now_called_twice_returns_the_same_open_task(nightly: Any, cli: Run) -> None:
    first = cli("schedules", "trigger", "nightly", "--json").json

    assert first == {"schedule": "nightly", "task_id": first["task_id"]}
    assert cli("schedules", "trigger", "nightly", "--json").json == first
    assert len(cli("tasks", "list", "--json").json["items"]) == 1


def test_deleted_schedule_no_longer_exists(nightly: Any, cli: Run) -> None:
    assert cli("schedules", "delete", "nightly", "--json").json == {"deleted": "nightly"}
    assert cli("schedules", "list").out == "no schedules\n"


def test_cron_expression_replaces_the_interval(nightly: Any, cli: Run) -> None:
    arguments = ["--cron", "30 2 * * *", "--zone", "Europe/Berlin", "--overlap", "skip", "--jitter", "10m"]
    changed = cli("schedules", "put", "nightly", *arguments, "--json").json

    assert (changed["every"], changed["cron"], changed["zone"]) == (None, "30 2 * * *", "Europe/Berlin")
    assert (changed["overlap"], changed["misfire"], changed["jitter"]) == ("skip", "one", 600)
    assert cli("schedules", "show", "nightly", "--json").json == changed
    assert "30 2 * * * (Europe/Berlin)" in cli("schedules", "list").out


def test_next_runs_of_a_daily_schedule_are_a_day_apart(nightly: Any, cli: Run) -> None:
    planned = cli("schedules", "preview", "nightly", "-n", "2", "--json").json

    first, second = (datetime.fromisoformat(run["slot"]) for run in planned)
    assert (first, second - first) == (datetime.fromisoformat(nightly["next_run_at"]), timedelta(days=1))
    assert len(cli("schedules", "preview", "nightly", "-n", "3").out.splitlines()) >= 4


def test_history_contains_manual_runs(nightly: Any, cli: Run) -> None:
    task_id = cli("schedules", "trigger", "nightly", "--json").json["task_id"]

    [run] = cli("schedules", "runs", "nightly", "--json").json["items"]
    assert (run["slot"], run["outcome"], run["task_id"]) == (None, "enqueued", task_id)
    assert "enqueued" in cli("schedules", "runs", "nightly").out


def test_schedule_can_be_disabled_and_enabled(nightly: Any, cli: Run) -> None:
    assert not cli("schedules", "disable", "nightly", "--json").json["enabled"]
    assert cli("schedules", "enable", "nightly", "--json").json["enabled"]


def test_table_lists_the_schedules(nightly: Any, cli: Run) -> None:
    assert "nightly" in cli("schedules", "list").out
    assert "nightly" in cli("schedules", "put", "nightly", "--enabled").out


@pytest.mark.parametrize("verb", ["trigger", "delete", "show", "preview", "runs", "enable", "disable"])
def test_missing_schedule_exits_with_code_4(cli: Run, verb: str) -> None:
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
        (["--handler", "add", "--every", "1h", "--cron", "@daily"], 2, "either"),
        (["--handler", "add", "--cron", "0 0 30 2 *"], 2, "day-of-month"),
        (["--handler", "add", "--cron", "0 0 * *"], 2, "has 4 fields"),
        (["--handler", "add", "--cron", "@daily", "--zone", "Europe/Berlim"], 2, "did you mean 'Europe/Berlin'"),
        (["--handler", "add", "--every", "1h", "--misfire", "twice"], 2, "skip, one or all"),
        (["--handler", "add", "--every", "1h", "--jitter", "2h"], 2, "no longer than the interval"),
    ],
)
def test_invalid_schedule_is_rejected(cli: Run, arguments: list[str], code: int, part: str) -> None:
    done = cli("schedules", "put", "odd", *arguments)

    assert (done.code, len(done.err.splitlines())) == (code, 1)
    assert part in done.err
    assert cli("schedules", "list", "--json").json == []


def test_upcoming_runs_and_past_outcomes_are_shown(nightly: Any, cli: Run) -> None:
    cli("schedules", "trigger", "nightly")

    [ahead] = cli("schedules", "ahead", "--hours", "48", "--json").json
    assert (ahead["name"], [each["slots"] for each in ahead["stretches"]]) == ("nightly", [1, 1])
    assert "nightly" in cli("schedules", "ahead").out
    assert cli("schedules", "outcomes", "nightly", "--json").json == {"enqueued": 1}
