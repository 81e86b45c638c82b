"""`rolecall up` and `rolecall worker` as real processes, on the embedded default and on a given Postgres."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from rolecall.testing import TestServer
from tests.cli.conftest import Run
from tests.cli.processes import Spawn, document, ended, runs, until


def server_pid(data_dir: Path) -> int | None:
    files = data_dir.glob("postgres/data-*/postmaster.pid")
    return next((int(file.read_text().split()[0]) for file in files), None)


def test_up_runs_tasks_enqueued_by_another_process_and_exits_cleanly(spawn: Spawn, execute: Run, folder: Path) -> None:
    up = spawn("up", "--app", "shop:app", "--json")
    assert document(up) == {
        "app": "shop:app",
        "processes": 1,
        "http": None,
        "token_file": None,
        "embedded": True,
        "data_dir": str(folder / "rolecall-data"),
    }
    postmaster = server_pid(folder / "rolecall-data")
    until(lambda: len(execute("workers", "list", "--json").json) == 1, "the worker is registered")

    done = execute("enqueue", "add", '{"a": 1, "b": 2}', "--wait", "60", "--json")
    failed = execute("enqueue", "stumble", "--wait", "60")
    up.send_signal(signal.SIGTERM)
    stopped = ended(up)

    assert (done.code, done.json["task"]["result"]) == (0, 3)
    assert failed.code == 1
    assert "over a stone" in failed.err
    assert stopped.code == 0, stopped.err
    assert "Starting worker" in stopped.err
    assert postmaster
    assert not runs(postmaster)


def test_up_and_other_commands_read_the_dotenv_file(spawn: Spawn, execute: Run, folder: Path) -> None:
    (folder / ".env").write_text("ROLECALL_DATA_DIR=elsewhere\n")

    up = spawn("up", "--app", "shop:app", "--json")

    assert document(up)["data_dir"] == str(folder / "elsewhere")
    until(lambda: len(execute("workers", "list", "--json").json) == 1, "the worker is registered")


def test_up_restarts_an_embedded_server_that_was_stopped(spawn: Spawn, execute: Run, folder: Path) -> None:
    up = spawn("up", "--app", "shop:app", "--processes", "2", "--json")
    document(up)
    until(lambda: len(execute("workers", "list", "--json").json) == 2, "the workers are registered")
    first = server_pid(folder / "rolecall-data")
    assert first

    os.kill(first, signal.SIGINT)
    until(lambda: server_pid(folder / "rolecall-data") not in {None, first}, "another server runs")

    assert execute("enqueue", "add", '{"a": 1, "b": 2}', "--wait", "60", "--json").json["task"]["result"] == 3
    up.send_signal(signal.SIGTERM)
    assert ended(up).code == 0


def test_enqueued_tasks_survive_a_restart(execute: Run, spawn: Spawn, folder: Path) -> None:
    first = spawn("up", "--app", "shop:app", "--roles", "other", "--json")
    document(first)
    until(lambda: len(execute("workers", "list", "--json").json) == 1, "the worker is registered")
    task_id = execute("enqueue", "add", '{"a": 2, "b": 2}', "--json").json["id"]
    first.send_signal(signal.SIGTERM)
    assert ended(first).code == 0

    second = spawn("up", "--app", "shop:app", "--json")
    document(second)

    until(lambda: "completed" in execute("tasks", "show", task_id).out, "the task completes")
    second.send_signal(signal.SIGTERM)
    assert ended(second).code == 0


ENQUEUES_AT_IMPORT = """
from rolecall import Client

with Client(app=app) as client:
    client.enqueue(add, {"a": 1, "b": 2})
"""


@pytest.mark.parametrize("given", [True, False], ids=["given", "embedded"])
def test_app_that_uses_the_database_on_import_starts_without_a_schema(
    spawn: Spawn, execute: Run, folder: Path, postgres_server: TestServer, *, given: bool
) -> None:
    with (folder / "shop.py").open("a") as shop:
        shop.write(ENQUEUES_AT_IMPORT)
    name = f"rolecall_empty_{uuid4().hex[:12]}"
    postgres_server.create(name)
    environment = {"DATABASE_URL": postgres_server.dsn(name)} if given else {}

    up = spawn("up", "--app", "shop:app", "--json", **environment)
    document(up)

    until(
        lambda: "completed" in execute("tasks", "list", **environment).out,
        "the task that the import enqueued completes",
    )
    up.send_signal(signal.SIGTERM)
    assert ended(up).code == 0
    postgres_server.drop(name)


def test_up_without_an_app_migrates_and_fires_schedules(
    spawn: Spawn, bare: Run, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", dsn)
    bare("schedules", "put", "often", "--every", "1h", "--handler", "add")

    up = spawn("up", DATABASE_URL=dsn)

    until(lambda: len(bare("tasks", "list", "--json").json["items"]) == 1, "the schedule fires")
    up.send_signal(signal.SIGTERM)
    assert ended(up).code == 0


def test_schedules_of_an_app_are_stored_once_and_operator_changes_persist(
    spawn: Spawn, cli: Run, dsn: str, folder: Path
) -> None:
    declared = 'app.schedule("hourly", "add", every=3600, payload={"a": 1, "b": 1}, enabled=False)\n'
    (folder / "shop.py").write_text((folder / "shop.py").read_text() + declared)
    first = spawn("up", "--app", "shop:app", DATABASE_URL=dsn)
    until(lambda: len(cli("schedules", "list", "--json").json) == 1, "the schedule is stored")
    first.send_signal(signal.SIGTERM)
    ended(first)
    cli("schedules", "put", "hourly", "--every", "2h")

    second = spawn("up", "--app", "shop:app", DATABASE_URL=dsn)
    until(
        lambda: second.pid in [known["pid"] for known in cli("workers", "list", "--json").json],
        "the second is registered",
    )
    second.send_signal(signal.SIGTERM)

    assert ended(second).code == 0
    [schedule] = cli("schedules", "list", "--json").json
    assert (schedule["every"], schedule["enabled"]) == (7_200, False)


def test_worker_reads_its_roles_and_name_from_the_environment(spawn: Spawn, cli: Run, dsn: str) -> None:
    worker = spawn(
        "worker", "--app", "shop:app", DATABASE_URL=dsn, ROLECALL_ROLES="sums,mail", ROLECALL_WORKER_ID="wilma",
        ROLECALL_SLOTS="3", ROLECALL_HEARTBEAT_INTERVAL_MS="500",
    )  # fmt: skip

    until(lambda: len(cli("workers", "list", "--json").json) == 1, "the worker is registered")
    [known] = cli("workers", "list", "--json").json
    worker.send_signal(signal.SIGTERM)

    assert (known["name"], known["roles"], known["slots"]) == ("wilma", ["sums", "mail"], 3)
    assert ended(worker).code == 0
    assert cli("workers", "list", "--json").json == []


def test_worker_without_a_name_is_named_after_its_role(spawn: Spawn, cli: Run, dsn: str) -> None:
    spawn("worker", "--app", "shop:app", "--roles", "sums", DATABASE_URL=dsn)
    until(lambda: len(cli("workers", "list", "--json").json) == 1, "the worker is registered")

    name = cli("workers", "list", "--json").json[0]["name"]

    assert name.startswith("worker-sums-")
    assert int(name.rpartition("-")[2], 16) >= 0
    assert len(name.rpartition("-")[2]) == 8


def test_several_processes_share_the_work_and_stop_together(spawn: Spawn, cli: Run, dsn: str) -> None:
    up = spawn("up", "--app", "shop:app", "--processes", "2", "--slots", "2", DATABASE_URL=dsn)
    until(lambda: len(cli("workers", "list", "--json").json) == 2, "two workers are registered")
    pids = {worker["pid"] for worker in cli("workers", "list", "--json").json}

    done = cli("enqueue", "add", '{"a": 1, "b": 2}', "--wait", "60", "--json")
    up.send_signal(signal.SIGTERM)

    assert done.json["task"]["result"] == 3
    assert up.pid not in pids
    assert ended(up).code == 0
    assert not any(map(runs, pids))


def test_worker_on_a_database_without_a_schema_exits_with_code_7(
    execute: Run, postgres_server: object, database: str
) -> None:
    done = execute("worker", "--app", "shop:app", DATABASE_URL=f"{database} dbname=postgres")

    assert done.code == 7
    assert len(done.err.splitlines()) <= 3
    assert done.err.endswith("; run: rolecall migrate\n")


def test_stop_during_startup_exits_with_code_0(spawn: Spawn, folder: Path) -> None:
    up = spawn("up", "--app", "shop:app")
    until((folder / "rolecall-data" / "postgres").exists, "the start begins")

    up.send_signal(signal.SIGTERM)

    assert ended(up).code == 0
    assert not list(folder.glob("rolecall-data/postgres/data-*/postmaster.pid"))


def test_package_and_cli_module_both_run_the_command(folder: Path) -> None:
    for module in ("rolecall", "rolecall.cli"):
        command = [sys.executable, "-m", module, "--version"]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
        assert done.stdout.startswith("rolecall ")


def test_log_lines_are_json_on_request(spawn: Spawn, cli: Run, dsn: str) -> None:
    worker = spawn("worker", "--app", "shop:app", "--log", "json", DATABASE_URL=dsn)
    until(lambda: len(cli("workers", "list", "--json").json) == 1, "the worker is registered")
    worker.send_signal(signal.SIGTERM)

    lines = [json.loads(line) for line in ended(worker).err.splitlines()]

    assert any(line["message"].startswith("Starting worker") for line in lines)
    assert all(line["at"].endswith("Z") for line in lines)
