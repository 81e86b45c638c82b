"""Migrations of a database with running workers: no call waits long for a waiting migration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import psycopg
import pytest
from psycopg.types.json import Jsonb

from rolecall.db.connect import connect
from rolecall.db.migrations import ROLECALL, Migrations
from rolecall.db.migrator import migrate, pending
from rolecall.model.errors import SchemaBusy
from tests.db.shop import Connection, write

TASKS = 40
DEADLINE = 60.0
# Longer than a call waits for a migration, and shorter than a migration waits in the lock queue.
SOON = "set statement_timeout = '8s'"
COMPLETE = "select * from rolecall.finish(%s, %s)"
TRIGGER = (
    "create trigger told after delete on rolecall.finished_tasks for each statement execute function rolecall.told();"
)
TOLD = "create function rolecall.told() returns trigger language plpgsql as 'begin return null; end';"
# The view that every claim reads, with one more column.
VIEW = (ROLECALL.functions or ROLECALL.folder).joinpath("pool/line_settings.sql").read_text("utf-8")
OTHER_VIEW = VIEW.replace("as strict_keys", "as strict_keys, role.description")
Migrating = Callable[[], Future[list[str]]]


class Worker:
    """A session with claims, which it completes one by one."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        connection.execute("select rolecall.declare(%s, %s)", (Jsonb([{"name": "work"}]), Jsonb([])))
        connection.execute("select rolecall.make_partitions()")
        connection.execute("select rolecall.enqueue_many(%s)", (Jsonb([{"role": "work"}] * TASKS),))
        worker = connection.execute("select rolecall.register_worker('w', '{}', '{work}', 1, 'h', 1, '0')").fetchone()
        assert worker is not None
        self.id = worker[0]

    def claim(self, connection: Connection) -> dict[str, object]:
        claimed = connection.execute("select id, fence from rolecall.claim(%s, '{}', '{work}', 1)", (self.id,))
        [(task_id, fence)] = claimed.fetchall()
        return {"id": task_id, "fence": fence, "outcome": "completed"}

    def complete(self, connection: Connection, report: dict[str, object]) -> None:
        assert connection.execute(COMPLETE, (self.id, Jsonb([report]))).fetchall() == []

    def work(self, number: int) -> int:
        """Claim and complete up to the given number of tasks, each call within the limit; return their number."""
        for _ in range(number):
            self.complete(self.connection, self.claim(self.connection))
        return number


@pytest.fixture
def worker(connection: Connection) -> Worker:
    worker = Worker(connection)
    connection.execute(SOON)
    return worker


@pytest.fixture
def package(tmp_path: Path) -> Migrations:
    (tmp_path / "migrations").mkdir()
    (tmp_path / "functions").mkdir()
    return Migrations(name="more", folder=tmp_path / "migrations", functions=tmp_path / "functions")


@contextmanager
def open_handler(database: str, worker: Worker) -> Iterator[Connection]:
    """A handler's own transaction that has completed its task and stays open."""
    with psycopg.connect(database, application_name="a long handler") as handler:
        worker.complete(handler, worker.claim(worker.connection))
        yield handler


@contextmanager
def migrating(database: str, package: Migrations) -> Iterator[Future[list[str]]]:
    """Migrate in a thread, and continue when it has met a lock that it did not get."""
    with ThreadPoolExecutor(1) as thread, connect(database, "migrate") as connection, connect(database, "look") as look:
        done = thread.submit(migrate, connection, package, patience=DEADLINE)
        query = "select count(*) > 0 from pg_locks where pid = %s and not granted"
        deadline = monotonic() + DEADLINE
        while not done.done() and look.execute(query, (connection.info.backend_pid,)).fetchone() != (True,):
            assert monotonic() < deadline, "the migration neither waits nor ends"
            sleep(0.001)
        yield done


def test_functions_are_applied_during_an_open_transaction_that_finished_a_task(
    connection: Connection, database: str, worker: Worker
) -> None:
    connection.execute("update rolecall.schema_files set checksum = 'of another release'")
    with open_handler(database, worker), connect(database, "migrate") as migrator:
        assert migrate(migrator, patience=0) == ["functions"]
        assert worker.work(3) == 3

    assert pending(connection) == []


@pytest.mark.parametrize("what", ["trigger", "view"])
def test_workers_claim_and_finish_while_a_migration_waits_for_a_table(
    database: str, worker: Worker, package: Migrations, tmp_path: Path, connection: Connection, what: str
) -> None:
    if what == "trigger":
        write(tmp_path, "migrations/0001_told.sql", TOLD + TRIGGER)
    else:
        write(tmp_path, "functions/line_settings.sql", OTHER_VIEW)
    with open_handler(database, worker) as handler:
        handler.execute("table rolecall.line_settings")
        with migrating(database, package) as migrated:
            assert worker.work(TASKS // 2) == TASKS // 2
            assert not migrated.done(), "the handler's transaction is still open"

            handler.commit()
            expected = ["0001_told"] if what == "trigger" else ["functions"]
            assert migrated.result(DEADLINE) == expected


def test_step_that_cannot_get_its_locks_names_the_blocking_session(
    database: str, worker: Worker, package: Migrations, tmp_path: Path, connection: Connection
) -> None:
    write(tmp_path, "migrations/0001_told.sql", TOLD)
    write(tmp_path, "migrations/0002_trigger.sql", TRIGGER)
    output = pytest.raises(SchemaBusy, match=r"a long handler.*rolecall\.finished_tasks")
    with open_handler(database, worker), connect(database, "migrate") as migrator, output as busy:
        migrate(migrator, package, patience=0.2)

    assert busy.value.step == "0002_trigger"
    assert pending(connection, package) == ["0002_trigger"]
    assert migrate(connection, package) == ["0002_trigger"]
