"""A backup by pg_dump, restored by pg_restore on another server, keeps every task, and workers continue there."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from rolecall import App, Client, EmbeddedServer, WorkerOptions
from rolecall.embedded.binaries import find_binaries
from rolecall.testing import TestServer, clone, drain_sync
from tests.guides.blocks import blocks

PLACES = "select id, state::text, attempt, payload from rolecall.all_tasks order by id"
LEASE = 2.0

app = App("shop")
app.role("work", lease=LEASE)


@app.task(role="work")
def double(n: int) -> int:
    return 2 * n


@app.task(role="work")
def total(n: int) -> int:
    return n


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """A restored database, the tasks at the time of the backup, and those after a worker has run."""

    dsn: str
    saved: list[tuple[Any, ...]]
    restored: list[tuple[Any, ...]]
    later: list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def backup(
    postgres_server: TestServer, database_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Restored]:
    folder = tmp_path_factory.mktemp("backup")
    with clone(postgres_server, database_template) as dsn, EmbeddedServer(folder / "other") as other:
        store_tasks(dsn)
        saved = rows(dsn, PLACES)
        run_tool("pg_dump", "--format=custom", f"--file={folder / 'shop.dump'}", f"--dbname={dsn}")
        target = other.dsn()
        run_tool("pg_restore", "--no-owner", "--no-privileges", f"--dbname={target}", str(folder / "shop.dump"))
        restored = rows(target, PLACES)
        drain_sync(app, target, WorkerOptions(slots=4, poll_interval=0.2), timeout=120)
        yield Restored(dsn=target, saved=saved, restored=restored, later=rows(target, PLACES))


def store_tasks(dsn: str) -> None:
    """Store a finished, a running, a pending, a blocked and a scheduled task, with the ids 1 to 5."""
    with Client(dsn, app=app) as client, psycopg.connect(dsn, autocommit=True) as connection:
        client.enqueue(double, {"n": 1})
        drain_sync(app, dsn)
        running = client.enqueue(double, {"n": 2})
        connection.execute("select rolecall.claim(999, '{}', '{double}', 1)")
        client.enqueue(double, {"n": 3})
        client.enqueue(total.task(n=4).options(needs=[running]))
        client.enqueue(double.task(n=5).options(after=3600))


def run_tool(name: str, *options: str) -> None:
    subprocess.run([str(find_binaries().postgres.parent / name), *options], check=True)


def rows(dsn: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        return connection.execute(query.encode()).fetchall()


def test_backup_contains_every_task_in_its_state(backup: Restored) -> None:
    assert [state for _, state, *_ in backup.saved] == ["completed", "running", "pending", "blocked", "pending"]
    assert backup.restored == backup.saved


def test_worker_continues_on_the_restored_database(backup: Restored) -> None:
    """A task that was running is rescued after its lease, and the attempt counts."""
    assert [(task_id, state, attempt) for task_id, state, attempt, _ in backup.later] == [
        (1, "completed", 1),
        (2, "completed", 2),
        (3, "completed", 1),
        (4, "completed", 1),
        (5, "pending", 0),
    ]


def test_ids_continue_after_a_restore_and_can_skip_those_of_lost_tasks(backup: Restored) -> None:
    [skip] = blocks("backup.md", "sql")
    with Client(backup.dsn, app=app) as client:
        first = client.enqueue(double, {"n": 6}).id
        rows(backup.dsn, skip)
        second = client.enqueue(double, {"n": 7}).id

    assert (first, second) == (6, 1_000_007)


def test_restored_tables_keep_their_constraints(backup: Restored) -> None:
    """The check constraint of the table calls a function with a row of it: each must be restored before the other."""
    with pytest.raises(psycopg.errors.CheckViolation) as refusal:
        rows(backup.dsn, "update rolecall.tasks set state = 'waiting' where state = 'pending'")

    assert refusal.value.diag.constraint_name == "waiting_only_for_children"
