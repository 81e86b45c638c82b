"""`rolecall chains`, and manual actions of `rolecall tasks`."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Run


def enqueued(cli: Run, *arguments: object) -> int:
    return int(cli("enqueue", "add", *arguments, "--json").json["id"])


def test_chains_are_listed_newest_first_with_pagination(cli: Run) -> None:
    ids = [enqueued(cli) for _ in range(3)]

    assert [chain["id"] for chain in cli("chains", "list", "--json").json["items"]] == ids[::-1]
    first = cli("chains", "list", "--json", "--limit", 1).json
    second = cli("chains", "list", "--json", "--limit", 1, "--after", first["next_cursor"]).json
    assert [chain["id"] for chain in first["items"] + second["items"]] == [ids[2], ids[1]]
    assert f"more: --after {first['next_cursor']}" in cli("chains", "list", "--limit", 1).out


def test_list_can_be_filtered(cli: Run) -> None:
    later = enqueued(cli, "--after", "1h")
    done = enqueued(cli)
    cli("tasks", "complete", done)

    def listed(*words: str) -> list[int]:
        return [chain["id"] for chain in cli("chains", "list", "--json", *words).json["items"]]

    assert listed("--state", "open", "--handler", "add", "--role", "sums") == [later]
    assert listed("--state", "completed") == [done]


def test_empty_list_is_reported(cli: Run) -> None:
    assert cli("chains", "list").out == "no such chains\n"


@pytest.mark.parametrize("wrong", [("--state", "lost"), ("--limit", "0"), ("--after", "x")])
def test_invalid_filter_is_rejected(cli: Run, wrong: tuple[str, str]) -> None:
    assert cli("chains", "list", *wrong).code == 2


def test_chain_is_shown_with_its_tasks(cli: Run) -> None:
    chain = enqueued(cli)
    cli("tasks", "complete", chain, "--result", '{"sum": 3}')

    shown = cli("chains", "show", chain, "--json").json
    assert (shown["chain"]["state"], shown["chain"]["result"]) == ("completed", {"sum": 3})
    assert [task["id"] for task in shown["tasks"]] == [chain]
    assert '{"sum": 3}' in cli("chains", "show", chain).out


@pytest.mark.parametrize("verb", ["show", "wait"])
def test_missing_chain_exits_with_code_4(cli: Run, verb: str) -> None:
    done = cli("chains", verb, "4711")

    assert (done.code, "4711" in done.err) == (4, True)


def test_wait_lasts_until_the_chain_finishes(cli: Run) -> None:
    good, bad, late = enqueued(cli), enqueued(cli), enqueued(cli)
    cli("tasks", "complete", good)
    cli("tasks", "fail", bad, "--error", "no longer wanted")

    assert cli("chains", "wait", good).code == 0
    failed = cli("chains", "wait", bad)
    assert (failed.code, "no longer wanted" in failed.err) == (1, True)
    assert cli("chains", "wait", late, "--timeout", "0.1").code == 8


def test_chains_are_deleted_and_missing_ones_skipped(cli: Run) -> None:
    needed = enqueued(cli)
    chain = enqueued(cli, "--needs", needed)

    refused = cli("chains", "delete", needed)
    assert (refused.code, str(chain) in refused.err) == (5, True)
    done = cli("chains", "delete", chain, 4711, "--cascade", "--json")
    assert (done.code, done.json) == (0, [{"id": needed, "tasks": 1}, {"id": chain, "tasks": 1}])


def test_task_can_be_completed_manually(cli: Run) -> None:
    task_id = enqueued(cli, "--after", "1h")

    assert cli("tasks", "complete", task_id, "--json").json == [{"id": task_id, "outcome": "completed"}]
    assert cli("tasks", "complete", task_id, "--json").json == [{"id": task_id, "outcome": "finished"}]


@pytest.mark.parametrize("verb", ["complete", "fail", "trigger"])
def test_missing_task_exits_with_code_4(cli: Run, verb: str) -> None:
    assert cli("tasks", verb, "4711").code == 4


def test_invalid_json_result_is_rejected(cli: Run) -> None:
    done = cli("tasks", "complete", enqueued(cli), "--result", "{")

    assert (done.code, "the result is not JSON" in done.err) == (2, True)


def test_tasks_can_be_triggered(cli: Run) -> None:
    task_id = enqueued(cli, "--after", "1h")

    [answer] = cli("tasks", "trigger", task_id, "--json").json

    assert answer["id"] == task_id
    assert cli("tasks", "show", task_id, "--json").json["task"]["status"] == "ready"


def test_only_pending_tasks_can_be_triggered(cli: Run) -> None:
    task_id = enqueued(cli)
    cli("tasks", "cancel", task_id)

    done = cli("tasks", "trigger", task_id)

    assert (done.code, "not pending but cancelled" in done.err) == (5, True)
