"""`rolecall tasks retry | cancel | delete` with filters instead of ids."""

from __future__ import annotations

from tests.cli.conftest import Run


def test_matching_tasks_are_cancelled_retried_and_deleted(cli: Run) -> None:
    cli("enqueue", "add", "--key", "k")
    cli("enqueue", "add")
    which = ("--role", "sums", "--key", "k", "--json")

    dry = cli("tasks", "cancel", "--dry-run", *which).json
    assert (dry["matched"], dry["outcomes"], dry["dry_run"]) == (1, {}, True)
    assert cli("tasks", "cancel", *which).json["outcomes"] == {"cancelled": 1}
    assert cli("tasks", "retry", "--state", "cancelled", *which).json["outcomes"] == {"pending": 1}
    assert cli("tasks", "delete", *which).json["outcomes"] == {"deleted": 1}
    assert len(cli("tasks", "list", "--json").json["items"]) == 1


def test_text_output_shows_the_number_of_tasks(cli: Run) -> None:
    cli("enqueue", "add")

    assert "would cancel  1" in cli("tasks", "cancel", "--role", "sums", "--dry-run").out


def test_bulk_action_without_a_filter_is_rejected(cli: Run) -> None:
    done = cli("tasks", "cancel")

    assert done.code == 2
    assert "at least one filter" in done.err
