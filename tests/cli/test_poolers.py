"""Every command through a real PgBouncer in transaction mode, with its defaults and two database connections."""

from __future__ import annotations

import signal
from collections.abc import Callable

import httpx2
import pytest

from rolecall.config import read_settings
from rolecall.worker.options import worker_options
from tests.cli.conftest import Run
from tests.cli.processes import Spawn, ended, served, until
from tests.servers import Bouncer

ADDED = {"a": 1, "b": 2}


@pytest.fixture
def through(dsn: str, pgbouncer: Bouncer, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make all commands use PgBouncer. Depends on `folder`, which clears the environment."""
    way = pgbouncer.through(dsn)
    monkeypatch.setenv("DATABASE_URL", way)
    return way


def test_worker_server_and_commands_work_behind_a_pooler(spawn: Spawn, bare: Run, through: str) -> None:
    worker = spawn("worker", "--app", "shop:app", "--slots", "3", DATABASE_URL=through)
    server = spawn("serve", "--app", "shop:app", "--port", "0", "--json", DATABASE_URL=through)
    api = served(server)

    ids = [bare("enqueue", "add", '{"a": 1, "b": 2}', "--json").json["id"] for _ in range(8)]
    for _ in range(20):
        task = {"handler": "add", "payload": ADDED}
        answer = httpx2.post(f"{api.url}/api/tasks", headers=api.headers, json=task, timeout=30)
        ids.append(answer.raise_for_status().json()["id"])

    def results() -> set[object]:
        return {api.get(f"/api/tasks/{task_id}").json()["result"] for task_id in ids}

    until(lambda: results() == {3}, "all are done")
    for process in (worker, server):
        process.send_signal(signal.SIGTERM)
    left = [ended(worker), ended(server)]

    assert [done.code for done in left] == [0, 0]
    assert [
        line for done in left for line in done.err.splitlines() if "ERROR" in line or "does not answer" in line
    ] == []


@pytest.mark.usefixtures("folder", "through")
def test_schema_can_be_created_through_a_pooler(bare: Run, sql: Callable[..., object]) -> None:
    sql("drop schema rolecall cascade")

    made = bare("migrate", "--json").json["applied"]

    assert made
    assert bare("migrate", "--json").json == {"applied": []}


@pytest.mark.usefixtures("folder", "through")
def test_doctor_names_the_missing_setting_until_it_is_set(bare: Run, dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    advice = {found["check"]: found["advice"] for found in bare("doctor", "--json").json["findings"]}
    assert "ROLECALL_LISTEN_URL" in advice["notifications"]

    monkeypatch.setenv("ROLECALL_LISTEN_URL", dsn)
    assert "notifications" not in {found["check"] for found in bare("doctor", "--json").json["findings"]}


@pytest.mark.usefixtures("folder", "through")
def test_doctor_reports_that_listening_is_impossible(bare: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROLECALL_LISTEN_URL", "postgresql://127.0.0.1:1/none")

    problems = {found["check"]: found["problem"] for found in bare("doctor", "--json").json["findings"]}

    assert "listening for notifications fails" in problems["notifications"]


def test_environment_configures_a_worker_for_a_pooler() -> None:
    result = read_settings({"ROLECALL_POOLED": "Yes", "ROLECALL_LISTEN_URL": "postgresql://direct/pool"})

    options = worker_options(result)

    assert (options.pooled, options.listen_dsn) == (True, "postgresql://direct/pool")
