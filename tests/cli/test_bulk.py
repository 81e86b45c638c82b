"""`rolecall tasks retry | cancel | delete` with filters instead of ids."""

from __future__ import annotations

from tests.cli.conftest import Run


def test_what_matches_is_cancelled_retried_and_deleted(cli: Run) -> None:
    cli("enqueue", "add", "--key", "k")
    cli("enqueue", "add")
    which = ("--role", "sums", "--key", "k", "--json")

    dry = cli("tasks", "cancel", "--dry-run", *which).json
    assert (dry["matched"], dry["outcomes"], dry["dry_run"]) == (1, {}, True)
    assert cli("tasks", "cancel", *which).json["outcomes"] == {"cancelled": 1}
    assert cli("tasks", "retry", "--state", "cancelled", *which).json["outcomes"] == {"pending": 1}
    assert cli("tasks", "delete", *which).json["outcomes"] == {"deleted": 1}
    assert len(cli("tasks", "list", "--json").json["items"]) == 1


def test_a_person_is_told_how_many(cli: Run) -> None:
    cli("enqueue", "add")

    assert "would cancel  1" in cli("tasks", "cancel", "--role", "sums", "--dry-run").out


def test_an_action_on_everything_is_refused(cli: Run) -> None:
    done = cli("tasks", "cancel")

    assert done.code == 2
    assert "at least one filter" in done.err
