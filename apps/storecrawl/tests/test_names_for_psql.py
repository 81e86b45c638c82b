"""Views for psql users: tasks, schedules and capacity under their previous names."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from rolecall import App, Client

TASKS = (
    "id role dispensary_id platform status priority scheduled_for worker_id claimed_at started_at completed_at"
    " last_heartbeat_at result error_message retry_count max_retries created_at updated_at"
)
SCHEDULES = (
    "id name role enabled interval_hours priority state_code last_run_at next_run_at last_task_count last_error"
    " is_immutable"
)
CAPACITY = (
    "role pending_tasks ready_tasks running_tasks active_workers claimed_last_hour completed_last_hour"
    " failed_last_hour tasks_per_worker_hour estimated_hours_to_drain"
)
HEALTH = """
select worker_id, role, count(*) as tasks, max(last_heartbeat_at) as last_heartbeat
from storecrawl.worker_tasks
where last_heartbeat_at > rolecall.clock() - interval '5 minutes'
group by worker_id, role
"""


class Psql:
    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def __call__(self, query: str, *parameters: object) -> list[dict[str, Any]]:
        with self._connection.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(query.encode(), parameters).fetchall()

    def task(self, task_id: int) -> dict[str, Any]:
        [row] = self("select * from storecrawl.worker_tasks where id = %s", task_id)
        return row

    def worker(self, name: str = "resync-1", role: str = "payload_fetch") -> int:
        query = "select rolecall.register_worker(%s, array[%s], array[%s], 1, 'h', 1, '0') as id"
        return int(self(query, name, role, role)[0]["id"])

    def claim(self, worker: int, role: str = "payload_fetch") -> None:
        self("select * from rolecall.claim(%s, array[%s], array[%s], 1, 0)", worker, role, role)


@pytest.fixture
def psql(connection: psycopg.Connection[Any], database: str, app: App) -> Psql:
    with Client(database, app=app) as client:
        client.cancel(client.enqueue("analytics_refresh").id)
    return Psql(connection)


@pytest.mark.parametrize(
    ("view", "columns"), [("worker_tasks", TASKS), ("task_schedules", SCHEDULES), ("v_worker_capacity", CAPACITY)]
)
def test_view_has_its_former_columns(psql: Psql, view: str, columns: str) -> None:
    named = psql("select attname from pg_attribute where attrelid = %s::regclass and attnum > 0", f"storecrawl.{view}")

    assert {row["attname"] for row in named} >= set(columns.split())


def test_task_of_a_store_names_the_store_and_the_platform(psql: Psql) -> None:
    psql(
        "insert into storecrawl.stores (id, platform, name) values (4, 'dutchie', 'A'), (5, 'weedmaps', 'B') returning 1"
    )
    [fetch] = psql("select rolecall.enqueue('payload_fetch', '{\"store_id\": 4}') as id")
    [refresh] = psql("select rolecall.enqueue('product_refresh', '{\"payload_id\": 9}', p_key => 'store:5') as id")
    [neither] = psql("select rolecall.enqueue('payload_fetch', '{\"store_id\": \"99999999999999999999\"}') as id")

    assert [(row["dispensary_id"], row["platform"]) for row in map(psql.task, (fetch["id"], refresh["id"]))] == [
        (4, "dutchie"),
        (5, "weedmaps"),
    ]
    assert psql.task(neither["id"])["dispensary_id"] is None


def test_task_shows_the_former_status_names_during_its_life(psql: Psql) -> None:
    [task] = psql("select rolecall.enqueue('payload_fetch', '{\"store_id\": 4}') as id")
    seen = [psql.task(task["id"])["status"]]
    worker = psql.worker()
    psql.claim(worker)
    seen.append(psql.task(task["id"])["status"])
    psql("select rolecall.start(%s, array[%s], array[1])", worker, task["id"])
    seen.append(psql.task(task["id"])["status"])
    psql("update rolecall.tasks set lease_until = rolecall.clock() - interval '1 s' returning id")
    seen.append(psql.task(task["id"])["status"])
    psql("select rolecall.complete_task(%s)", task["id"])
    seen.append(psql.task(task["id"])["status"])

    assert seen == ["pending", "claimed", "running", "stale", "completed"]


def test_claimed_task_names_its_worker_and_counts_retries_as_before(psql: Psql) -> None:
    [task] = psql("select rolecall.enqueue('payload_fetch', '{\"store_id\": 4}', p_max_attempts => 4) as id")
    psql.claim(psql.worker("worker-payload_fetch-1a2b3c4d"))

    row = psql.task(task["id"])

    assert (row["worker_id"], row["retry_count"], row["max_retries"]) == ("worker-payload_fetch-1a2b3c4d", 0, 3)
    assert row["last_heartbeat_at"] is not None


@pytest.mark.parametrize(
    ("end", "status", "error"),
    [
        ("select rolecall.fail_task(%s, 'no menu')", "failed", "no menu"),
        ("select rolecall.cancel(array[%s])", "failed", "cancelled"),
    ],
)
def test_unsuccessful_end_is_shown_as_failed(psql: Psql, end: str, status: str, error: str) -> None:
    [task] = psql("select rolecall.enqueue('analytics_refresh') as id")

    psql(end, task["id"])

    row = psql.task(task["id"])
    assert (row["status"], row["error_message"], row["platform"]) == (status, error, None)
    assert row["completed_at"] is not None


def test_health_check_counts_the_tasks_held_by_each_worker(psql: Psql) -> None:
    psql("select rolecall.enqueue('payload_fetch', '{\"store_id\": 4}')")
    psql.claim(psql.worker())

    [row] = psql(HEALTH)

    assert (row["worker_id"], row["role"], row["tasks"]) == ("resync-1", "payload_fetch", 1)


def test_schedule_shows_its_interval_in_hours_and_its_state(psql: Psql) -> None:
    schedule = '{"name": "az", "handler": "payload_fetch_all", "every": 5400, "payload": {"state": "AZ"}}'
    psql("select rolecall.put_schedule(%s::jsonb)", schedule)

    [row] = psql("select * from storecrawl.task_schedules")

    assert (row["name"], row["role"], row["interval_hours"], row["state_code"], row["enabled"]) == (
        "az",
        "payload_fetch",
        1.5,
        "AZ",
        True,
    )


def test_capacity_of_each_role_is_shown(psql: Psql) -> None:
    psql("select rolecall.enqueue('payload_fetch', '{\"store_id\": 4}')")

    [row] = psql("select * from storecrawl.v_worker_capacity where role = 'payload_fetch'")

    assert (row["pending_tasks"], row["ready_tasks"], row["running_tasks"], row["active_workers"]) == (1, 1, 0, 0)


def test_views_reveal_no_more_than_their_base_tables(connection: psycopg.Connection[Any]) -> None:
    options = connection.execute(
        "select relname, reloptions from pg_class where relkind = 'v' and relnamespace = 'storecrawl'::regnamespace"
    ).fetchall()

    assert {name: value for name, value in options if "security_invoker=true" not in (value or [])} == {}
