"""`rolecall counts`, `history`, `capacity`, `roles`, `workers`, `rescue` and `prune`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.conftest import Run

Sql = Callable[..., list[tuple[Any, ...]]]


def test_tasks_are_counted_by_role_and_state(cli: Run) -> None:
    cli("enqueue", "add")
    cli("enqueue", "add", "--after", "1h")

    assert cli("counts", "--json").json == [{"role": "sums", "state": "pending", "number": 2}]
    assert cli("counts").out.split()[-3:] == ["sums", "pending", "2"]


def test_capacity_of_a_role_is_shown(cli: Run) -> None:
    cli("enqueue", "add")
    cli("enqueue", "add", "--after", "1h")

    [role] = cli("capacity", "--json").json
    assert role["role"] == "sums"
    assert (role["pending_tasks"], role["ready_tasks"], role["active_workers"]) == (2, 1, 0)
    assert role["estimated_hours_to_drain"] is None


def test_role_shows_how_many_workers_it_needs(cli: Run) -> None:
    need = cli("capacity", "sums", "--json").json

    assert need["workers_needed"] == {"for_1_hour": 0, "for_4_hours": 0, "for_8_hours": 0}


def test_unknown_role_is_rejected_and_a_similar_name_suggested(cli: Run) -> None:
    done = cli("capacity", "sum")

    assert done.code == 4
    assert "did you mean 'sums'?" in done.err


def test_roles_are_listed_with_their_settings(cli: Run) -> None:
    [role] = cli("roles", "list", "--json").json

    assert (role["name"], role["lease"]) == ("sums", 60.0)


def test_handlers_are_listed_and_shown_with_their_payload_schema(cli: Run, sql: Sql) -> None:
    sql("""select rolecall.declare('[]', '[{"name": "weigh", "role": "sums", "signature": {"type": "object"}}]')""")

    assert [each["name"] for each in cli("handlers", "list", "--json").json] == ["add", "stumble", "weigh"]
    assert cli("handlers", "show", "weigh", "--json").json["signature"] == {"type": "object"}
    assert "did you mean 'weigh'" in cli("handlers", "show", "weight").err


def test_worker_list_contains_only_workers_with_a_recent_heartbeat(cli: Run, sql: Sql) -> None:
    for name in ("alive", "silent", "gone"):
        sql("select rolecall.register_worker(%s, '{sums}', '{add}', 2, 'host', 1, '0')", name)
    sql("update rolecall.workers set heartbeat_at = heartbeat_at - interval '61 s' where name = 'silent'")
    sql("select rolecall.deregister_worker(id) from rolecall.workers where name = 'gone'")

    assert [worker["name"] for worker in cli("workers", "list", "--json").json] == ["alive"]
    assert {worker["name"] for worker in cli("workers", "list", "--json", "--all").json} == {"alive", "silent", "gone"}
    table = cli("workers", "list", "--all").out
    assert "stopped" in table
    assert "silent" in table


def test_task_of_a_dead_worker_is_rescued(cli: Run, sql: Sql) -> None:
    task_id = cli("enqueue", "add", "--json").json["id"]
    [(worker_id,)] = sql("select rolecall.register_worker('w', '{}', '{add}', 1, 'h', 1, '0')")
    sql("select * from rolecall.claim(%s, '{}', '{add}', 1)", worker_id)
    assert cli("rescue", "--json").json == []

    sql("update rolecall.tasks set lease_until = lease_until - interval '1 hour'")
    sql("update rolecall.server_epoch set seen_at = seen_at - interval '1 hour'")

    assert cli("rescue", "--json").json == [{"id": task_id, "state": "pending"}]


def test_second_prune_finds_nothing(cli: Run, sql: Sql) -> None:
    sql("select rolecall.register_worker('w', '{}', '{add}', 1, 'h', 1, '0')")
    sql("update rolecall.workers set heartbeat_at = heartbeat_at - interval '2 days'")

    assert cli("prune", "--json").json["workers"] == 1
    assert cli("prune").out == "nothing to prune\n"


@pytest.mark.parametrize("command", ["counts", "capacity", "roles list", "workers list", "rescue", "prune"])
def test_empty_result_is_still_a_json_document_and_a_sentence(cli: Run, command: str) -> None:
    assert cli(*command.split(), "--json").json is not None
    assert cli(*command.split()).out.strip()


def test_history_shows_finished_tasks(cli: Run, sql: Sql) -> None:
    assert "Nothing has been recorded yet" in cli("history").out
    cli("enqueue", "add")
    [(worker_id,)] = sql("select rolecall.register_worker('w', '{}', '{add}', 1, 'h', 1, '0')")
    [(task_id, fence)] = sql("select id, fence from rolecall.claim(%s, '{}', '{add}', 1)", worker_id)
    report = json.dumps([{"id": task_id, "fence": fence, "outcome": "completed"}])
    sql("select from rolecall.finish(%s, %s)", worker_id, report)
    sql("update rolecall.finished_tasks set finished_at = finished_at - interval '15 s'")
    sql(
        "update rolecall.history_until set began = at, moment = at from rolecall.begin_of_bin(60, now() - '90 s'::interval) as at"
    )
    # A call ends at a full hour of the clock; another one continues.
    while sql("select rolecall.roll_up_history('0 s')") == [(True,)]:
        pass

    result = cli("history", "sums", "--last", "15m", "--json").json

    assert (result["role"], result["step_seconds"]) == ("sums", 10)
    assert sum(point["completed"] or 0 for point in result["points"]) == 1
    assert cli("history", "sum").code == 4
