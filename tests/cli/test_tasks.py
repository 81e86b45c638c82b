"""`rolecall tasks`: list, show, retry, cancel."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from rolecall.sql.encoding import encode_result
from tests.cli.conftest import Run

Sql = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture
def failed(sql: Sql) -> int:
    return fail_task(sql, "over a stone")


def fail_task(sql: Sql, error: str) -> int:
    [(task_id,)] = sql("select rolecall.enqueue('sums', p_handler => 'stumble', p_max_attempts => 1)")
    [(worker_id,)] = sql("select rolecall.register_worker('w', '{}', '{stumble}', 1, 'h', 1, '0')")
    [(fence,)] = sql("select fence from rolecall.claim(%s, '{}', '{stumble}', 1)", worker_id)
    report = [{"id": task_id, "fence": fence, "outcome": "failed", "error": error}]
    sql("select * from rolecall.finish(%s, %s)", worker_id, json.dumps(report))
    return int(task_id)


def enqueued(cli: Run, *arguments: str) -> int:
    return int(cli("enqueue", "add", *arguments, "--json").json["id"])


def test_tasks_are_listed_newest_first(cli: Run) -> None:
    ids = [enqueued(cli) for _ in range(3)]

    assert [task["id"] for task in cli("tasks", "list", "--json").json["items"]] == ids[::-1]


def test_page_continues_after_the_previous_one(cli: Run) -> None:
    ids = [enqueued(cli) for _ in range(3)]

    cursor = cli("tasks", "list", "--json", "--limit", 1).json["next_cursor"]
    page = cli("tasks", "list", "--json", "--limit", 1, "--after", cursor).json
    assert [task["id"] for task in page["items"]] == [ids[1]]
    assert cli("tasks", "list", "--limit", 1).out.splitlines()[-1] == f"more: --after {cursor}"


def test_text_tables_show_the_first_line_of_an_error(cli: Run, sql: Sql) -> None:
    failed = fail_task(sql, "ValueError: over a stone\nTraceback (most recent call last):\n  ...")

    for command in (("tasks", "list"), ("tasks", "tree", failed), ("tasks", "attempts", failed)):
        shown = cli(*command).out
        assert ("ValueError: over a stone" in shown, "Traceback" in shown) == (True, False), command


def test_derived_status_can_be_filtered_like_a_state(cli: Run) -> None:
    later = enqueued(cli, "--after", "1h")
    enqueued(cli)

    assert [task["id"] for task in cli("tasks", "list", "--json", "--state", "scheduled").json["items"]] == [later]
    assert len(cli("tasks", "list", "--json", "--state", "pending").json["items"]) == 2


def test_role_handler_and_key_filters_combine(cli: Run, failed: int) -> None:
    wanted = enqueued(cli, "--key", "k")
    enqueued(cli)

    found = cli("tasks", "list", "--json", "--role", "sums", "--handler", "add", "--key", "k").json["items"]
    assert [task["id"] for task in found] == [wanted]


def test_table_escapes_control_characters(cli: Run) -> None:
    enqueued(cli, "--key", "[red]\x1b[0m")

    assert "[red]\\x1b[0m" in cli("tasks", "list").out


def test_empty_list_is_reported(cli: Run) -> None:
    assert cli("tasks", "list").out == "no tasks\n"
    assert cli("tasks", "list", "--json").json == {"items": [], "next_cursor": None}


@pytest.mark.parametrize(
    "wrong", [("--state", "lost"), ("--limit", "0"), ("--limit", "1001"), ("--after", "x"), ("--created-from", "x")]
)
def test_invalid_filter_is_rejected(cli: Run, wrong: tuple[str, str]) -> None:
    done = cli("tasks", "list", *wrong)

    assert done.code == 2
    assert len(done.err.splitlines()) == 1


def test_task_is_shown_with_its_history(cli: Run, failed: int) -> None:
    shown = cli("tasks", "show", failed, "--json").json

    assert shown["task"]["state"] == "failed"
    assert shown["task"]["error"] == "over a stone"
    assert [entry["kind"] for entry in shown["timeline"]][:3] == ["created", "claimed", "started"]


def test_text_output_shows_the_error_and_the_history(cli: Run, failed: int) -> None:
    out = cli("tasks", "show", failed).out

    assert "over a stone" in out
    assert "claimed" in out


def test_each_attempt_of_a_task_is_shown(cli: Run, failed: int) -> None:
    [attempt] = cli("tasks", "attempts", failed, "--json").json

    assert (attempt["attempt"], attempt["worker_id"], attempt["outcome"], attempt["error"]) == (
        1, 1, "error", "over a stone",
    )  # fmt: skip
    assert attempt["claimed_at"] <= attempt["ended_at"]
    assert "over a stone" in cli("tasks", "attempts", failed).out


@pytest.mark.parametrize("verb", ["show", "retry", "cancel"])
def test_missing_task_exits_with_code_4(cli: Run, verb: str) -> None:
    done = cli("tasks", verb, "4711")

    assert done.code == 4
    assert "4711" in done.err


@pytest.mark.parametrize("verb", ["show", "retry", "cancel"])
@pytest.mark.parametrize("wrong", ["x", "1.5", "99999999999999999999"])
def test_invalid_id_exits_with_code_2(cli: Run, verb: str, wrong: str) -> None:
    assert cli("tasks", verb, wrong).code == 2


def test_retried_task_is_pending_again_with_the_same_id(cli: Run, failed: int) -> None:
    done = cli("tasks", "retry", failed, "--json")

    assert (done.code, done.json) == (0, [{"id": failed, "outcome": "pending"}])


def test_open_task_cannot_be_retried(cli: Run) -> None:
    done = cli("tasks", "retry", enqueued(cli))

    assert done.code == 5
    assert "cannot be retried: open" in done.err


def test_retry_skips_missing_tasks_and_retries_the_others(cli: Run, failed: int) -> None:
    done = cli("tasks", "retry", "4711", failed, "--json")

    assert done.code == 4
    assert done.json == [{"id": 4711, "outcome": "missing"}, {"id": failed, "outcome": "pending"}]


def test_pending_task_can_be_cancelled(cli: Run) -> None:
    task_id = enqueued(cli)

    assert cli("tasks", "cancel", task_id, task_id, "--json").json == [{"id": task_id, "outcome": "cancelled"}]
    assert cli("tasks", "show", task_id, "--json").json["task"]["state"] == "cancelled"


def test_cancelling_a_finished_task_changes_nothing(cli: Run, failed: int) -> None:
    done = cli("tasks", "cancel", failed, "--json")

    assert (done.code, done.json) == (0, [{"id": failed, "outcome": "finished"}])


def test_tree_shows_the_tasks_below_a_task_and_its_progress(cli: Run, sql: Sql) -> None:
    parent = enqueued(cli)
    [(worker_id,)] = sql("select rolecall.register_worker('w', '{}', '{add}', 1, 'h', 1, '0')")
    [(fence,)] = sql("select fence from rolecall.claim(%s, '{}', '{add}', 1)", worker_id)
    children = '"next": {"children": [{"handler": "add"}, {"handler": "add"}]}'
    report = f'[{{"id": {parent}, "fence": {fence}, "outcome": "completed", {children}}}]'
    sql("select * from rolecall.finish(%s, %s)", worker_id, report)

    nodes = cli("tasks", "tree", parent, "--json").json
    drawn = cli("tasks", "tree", parent).out

    assert [(node["id"], node["parent_id"], node["state"]) for node in nodes] == [
        (parent, None, "waiting"),
        (parent + 1, parent, "pending"),
        (parent + 2, parent, "pending"),
    ]
    assert f"{parent} add waiting" in drawn
    assert "0 of 3" in drawn


def test_tree_of_a_missing_task_is_an_error(cli: Run) -> None:
    assert cli("tasks", "tree", 4711).code == 4


def test_enqueue_accepts_needs_and_a_timeout(cli: Run) -> None:
    first = enqueued(cli)

    second = enqueued(cli, "--needs", str(first), "--timeout", "90")

    task = cli("tasks", "show", second, "--json").json["task"]
    assert (task["state"], task["open_needs"], task["timeout"]) == ("blocked", 1, 90)


def test_why_shows_the_causes_and_their_remedies(cli: Run) -> None:
    """The role is paused and has no live worker."""
    task_id = enqueued(cli)
    cli("roles", "pause", "sums")

    shown = cli("tasks", "why", task_id).out
    causes = cli("tasks", "why", task_id, "--json").json["causes"]

    assert [cause["kind"] for cause in causes] == ["role_paused", "no_worker"]
    assert "resume the role: rolecall roles resume sums" in shown
    assert "start one: rolecall worker --roles sums" in shown
    assert cli("tasks", "why", 4711).code == 4


def test_unstored_result_is_reported(cli: Run) -> None:
    task_id = enqueued(cli)
    marker = encode_result(object())
    cli("tasks", "complete", task_id, "--result", marker.text)

    assert f"not stored: {marker.unstored}" in cli("tasks", "show", task_id).out
    assert cli("tasks", "show", task_id, "--json").json["task"]["result"]["why"] == marker.unstored


def test_query_selects_tasks(cli: Run) -> None:
    enqueued(cli, "--key", "shop:1")
    task = enqueued(cli, "--key", "shop:2")

    found = cli("tasks", "list", "--query", "key:shop:2 handler:add", "--json").json

    assert [each["id"] for each in found["items"]] == [task]


def test_invalid_query_is_a_usage_error(cli: Run) -> None:
    result = cli("tasks", "list", "--query", "rol:sums")

    assert result.code != 0
    assert "there is no field 'rol'; did you mean 'role'?" in result.err
