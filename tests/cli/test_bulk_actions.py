"""`rolecall bulk`, and processes that work off its actions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.cli.conftest import Run
from tests.cli.processes import Spawn, document, until

Sql = Callable[..., list[tuple[Any, ...]]]
TASKS = 20_000
ENQUEUE = (
    "select rolecall.enqueue_many(jsonb_agg(jsonb_build_object('role', 'sums', 'handler', 'add')))"
    " from generate_series(1, 1000)"
)


def test_action_is_previewed_started_listed_shown_and_withdrawn(cli: Run) -> None:
    cli("enqueue", "add")

    assert cli("bulk", "preview", "cancel", "--role", "sums").out.split()[:3] == ["would", "cancel", "1"]
    assert "bulk action 1 will cancel 1 tasks" in cli("bulk", "start", "cancel", "--role", "sums").out
    assert "waiting" in cli("bulk", "list").out
    assert cli("bulk", "show", 1, "--json").json["filter"] == {"role": "sums"}
    assert cli("bulk", "stop", 1, "--json").json["state"] == "withdrawn"
    assert "pending" in cli("tasks", "show", 1).out


def test_invalid_action_is_rejected(cli: Run) -> None:
    for words, problem in (
        (("start", "cancel"), "at least one filter"),
        (("start", "burn", "--role", "sums"), "is not one of retry, cancel, delete"),
        (("start", "cancel", "--role", "sums", "--rate", 1), "only retries have a rate"),
        (("show", 4711), "there is no bulk action 4711"),
    ):
        done = cli("bulk", *words)
        assert done.code
        assert problem in done.err


def test_another_process_continues_the_action_of_a_killed_one(cli: Run, spawn: Spawn, sql: Sql, dsn: str) -> None:
    for _ in range(TASKS // 1_000):
        sql(ENQUEUE)
    first = spawn("serve", "--json", "--port", 0, DATABASE_URL=dsn)
    document(first)
    cli("bulk", "start", "cancel", "--role", "sums", "--delay", 0)
    until(lambda: sql("select done > 0 from rolecall.bulk_actions") == [(True,)], "the first process works")

    first.kill()
    first.wait()
    [[done]] = sql("select done from rolecall.bulk_actions")
    spawn("serve", "--json", "--port", 0, DATABASE_URL=dsn)

    until(lambda: sql("select state from rolecall.bulk_actions") == [("completed",)], "another process continues")
    assert done < TASKS
    assert sql("select done, total, outcomes from rolecall.bulk_actions") == [(TASKS, TASKS, {"cancelled": TASKS})]
    assert sql("select count(*), count(distinct task_id) from rolecall.task_events where actor is not null") == [
        (TASKS, TASKS)
    ]
