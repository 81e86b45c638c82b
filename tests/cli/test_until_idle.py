"""`rolecall worker --until-idle`, for cron jobs, CI and tests; and slots by role on the command line."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Run
from tests.cli.processes import Spawn, until


@pytest.mark.parametrize("processes", [1, 2])
def test_worker_runs_until_idle_and_reports_counts_and_failures(
    execute: Run, cli: Run, dsn: str, processes: int
) -> None:
    for number in range(5):
        cli("enqueue", "add", f'{{"a": {number}, "b": 2}}')
    cli("enqueue", "stumble", "--max-attempts", "1")
    cli("enqueue", "add", '{"a": 1, "b": 2}', "--after", "1h")

    command = ("worker", "--app", "shop:app", "--until-idle", "--processes", processes, "--json")
    failed = execute(*command, DATABASE_URL=dsn)
    again = execute(*command, DATABASE_URL=dsn)

    assert failed.code == 1, failed.err
    assert [tuple(each.values()) for each in failed.json["counts"]] == [
        ("sums", "pending", 1), ("sums", "completed", 5), ("sums", "failed", 1),
    ]  # fmt: skip
    assert again.code == 0, again.err
    assert again.json["counts"] == [{"role": "sums", "state": "pending", "number": 1}]


def test_slots_by_role_are_read_from_the_environment(spawn: Spawn, cli: Run, dsn: str) -> None:
    spawn("worker", "--app", "shop:app", DATABASE_URL=dsn, ROLECALL_SLOTS="sums:3,mail:2")
    until(lambda: len(cli("workers", "list", "--json").json) == 2, "both are registered")

    known = cli("workers", "list", "--json").json

    assert sorted((each["roles"], each["slots"]) for each in known) == [(["mail"], 2), (["sums"], 3)]


@pytest.mark.parametrize(
    ("slots", "problem"),
    [
        ("sums:none", "is not a whole number"),
        ("sums:0", "must be between 1 and 1000"),
        ("sums:1,mail", "contains 'mail'; the form is role:slots"),
        ("sums:1,sums:2", "contains the role sums twice"),
        ("su ms:1", "is not a role name"),
        ("sums:600,mail:600", "must be between 1 and 1000"),
        ("mail:1", "no slots are set for the role sums"),
        ("sums:1,mail:1", "does not serve the role mail"),
    ],
)
def test_invalid_slots_are_rejected(bare: Run, slots: str, problem: str) -> None:
    refused = bare("worker", "--app", "shop:app", "--slots", slots, "--roles", "sums")

    assert refused.code == 2
    assert problem in refused.err
