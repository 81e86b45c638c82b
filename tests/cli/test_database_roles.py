"""Each database role can do its job through the public interfaces, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from rolecall.app import App
from rolecall.cli.locate import load_app
from rolecall.client.sync_client import Client
from rolecall.db.connect import connect
from rolecall.db.migrator import grant_roles
from rolecall.model.errors import DatabaseError
from rolecall.testing import drain, working
from rolecall.worker.options import WorkerOptions
from tests.cli.conftest import Run
from tests.logins import login

UNDONE = (
    "select count(*) from rolecall.retention where next_at = '-infinity'",
    "select 1 - count(*) from rolecall.schedules",
    "select count(*) from rolecall.workers where heartbeat_at = started_at",
)
STANDARD = WorkerOptions(slots=2, poll_interval=0.2)


@pytest.fixture(autouse=True)
def granted(dsn: str) -> None:
    with connect(dsn, "test") as connection:
        grant_roles(connection)


@pytest.fixture
def enqueuer(dsn: str) -> Iterator[str]:
    with login(dsn, "rolecall_enqueue") as reached:
        yield reached


@pytest.fixture
def worker(dsn: str) -> Iterator[str]:
    with login(dsn, "rolecall_work") as reached:
        yield reached


@pytest.fixture
def operator(dsn: str, bare: Run, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    with login(dsn, "rolecall_operate") as reached:
        monkeypatch.setenv("DATABASE_URL", reached)
        yield bare


@pytest.fixture
def reader(dsn: str, bare: Run, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    with login(dsn, "rolecall_read") as reached:
        monkeypatch.setenv("DATABASE_URL", reached)
        yield bare


@pytest.fixture
def shop(folder: Path) -> App:
    return load_app("shop:app")


async def test_task_enqueued_by_one_login_runs_under_another(enqueuer: str, worker: str, dsn: str, shop: App) -> None:
    with Client(enqueuer) as client:
        task = client.enqueue("add", {"a": 1, "b": 2}, role="sums")

    await drain(shop, worker, STANDARD)

    with Client(dsn) as client:
        assert client.get(task.id).result == 3


def test_enqueue_login_cannot_cancel_tasks(enqueuer: str) -> None:
    with Client(enqueuer) as client:
        task = client.enqueue("add", {"a": 1, "b": 2}, role="sums")
        with pytest.raises(DatabaseError, match="permission denied for function cancel"):
            client.cancel(task.id)


async def test_work_login_can_run_the_maintenance_duties(
    worker: str, dsn: str, shop: App, caplog: pytest.LogCaptureFixture
) -> None:
    shop.schedule("hourly", "add", every=3600, payload={"a": 1, "b": 1})
    with connect(dsn, "test") as connection:
        connection.execute("update rolecall.retention set next_at = '-infinity' where next_at < 'infinity'")
        async with working(shop, worker, STANDARD):
            while any(connection.execute(query).fetchone() != (0,) for query in UNDONE):
                await asyncio.sleep(0.05)

    assert "permission denied" not in caplog.text


@pytest.mark.parametrize(
    "words",
    [
        "tasks list", "tasks show 1", "roles list", "roles pause sums", "roles resume sums", "tasks cancel 1", "tasks retry 1",
        "workers list", "schedules put often --every 1h --handler add", "schedules list", "schedules trigger often",
        "keys create k --scope read", "keys list", "people list", "audit",
    ],
)  # fmt: skip
def test_operate_login_can_run_every_command(operator: Run, words: str) -> None:
    operator("enqueue", "add", '{"a": 1, "b": 2}')
    operator("tasks", "cancel", 1) if "retry" in words else None
    operator("schedules", "put", "often", "--every", "1h", "--handler", "add")

    done = operator(*words.split())

    assert done.code == 0, done.err


def test_operate_login_can_run_the_doctor(operator: Run) -> None:
    assert operator("doctor").err == ""


@pytest.mark.parametrize(
    "words",
    ["tasks list", "tasks show 1", "tasks attempts 1", "roles list", "workers list", "schedules list", "tasks why 1"],
)
def test_read_login_can_list_tasks(reader: Run, dsn: str, words: str) -> None:
    with Client(dsn) as client:
        client.enqueue("add", {"a": 1, "b": 2}, role="sums")

    done = reader(*words.split())

    assert done.code == 0, done.err


@pytest.mark.parametrize(
    "words", ["tasks cancel 1", "roles pause sums", "keys list", "people list", "audit", "keys create k --scope read"]
)
def test_read_login_cannot_run_commands_or_see_secrets(reader: Run, dsn: str, words: str) -> None:
    with Client(dsn) as client:
        client.enqueue("add", {"a": 1, "b": 2}, role="sums")

    done = reader(*words.split())

    assert done.code != 0
    assert "permission denied" in done.err
