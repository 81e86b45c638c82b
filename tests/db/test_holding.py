"""A migration that does not get its locks holds claims for a few seconds, and no longer even if it is killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from time import monotonic, sleep

import psycopg
import pytest
from psycopg.types.json import Jsonb

from rolecall.db import holding
from rolecall.db.connect import connect
from rolecall.db.holding import HELD_BY, holding_claims
from rolecall.db.migrations import Migrations
from rolecall.db.migrator import migrate
from rolecall.model.errors import SchemaBusy
from tests.db.shop import Connection, write
from tests.db.test_busy_pool import TOLD, TRIGGER, Worker, open_handler, package, worker

__all__ = ["package", "worker"]

DEADLINE = 60.0
PAUSES = (
    "select name, paused_by, paused_until is not null from rolecall.roles where paused_at is not null order by name"
)
# Migrates in a separate process, which tries briefly before it holds claims for 2 s at a time.
MIGRATE = """
import sys
from pathlib import Path
from rolecall.db import holding
from rolecall.db.connect import connect
from rolecall.db.migrator import Migrations, migrate
holding.PATIENCE_BEFORE, holding.HOLDS = 0.1, (2.0,)
with connect(sys.argv[1], "migrate") as connection:
    migrate(connection, Migrations(name="more", folder=Path(sys.argv[2])))
"""


@pytest.fixture
def locking(tmp_path: Path, package: Migrations) -> Migrations:
    """Migrations that lock a table into which finished tasks are inserted."""
    write(tmp_path, "migrations/0001_told.sql", TOLD + TRIGGER)
    return package


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start holding claims after a moment."""
    monkeypatch.setattr(holding, "PATIENCE_BEFORE", 0.2)


def can_claim(connection: Connection, worker: Worker) -> bool:
    """Return whether a claim gets a task, which is then finished."""
    connection.execute("select rolecall.enqueue_many(%s)", (Jsonb([{"role": "work"}]),))
    claimed = connection.execute("select id, fence from rolecall.claim(%s, '{}', '{work}', 1)", (worker.id,)).fetchall()
    for task_id, fence in claimed:
        worker.complete(connection, {"id": task_id, "fence": fence, "outcome": "completed"})
    return bool(claimed)


def pass_on(database: str, worker: Worker, has_begun: Event) -> int:
    """Run handlers with overlapping transactions until a claim gets nothing; return their number."""
    number = 0
    with psycopg.connect(database) as first, psycopg.connect(database) as second:
        running, following = first, second
        worker.complete(running, worker.claim(worker.connection))
        has_begun.set()
        end = monotonic() + DEADLINE
        while monotonic() < end:
            number += 1
            worker.connection.execute("select rolecall.enqueue_many(%s)", (Jsonb([{"role": "work"}]),))
            query = "select id, fence from rolecall.claim(%s, '{}', '{work}', 1)"
            claimed = worker.connection.execute(query, (worker.id,)).fetchall()
            if not claimed:
                running.commit()
                return number
            worker.complete(following, {"id": claimed[0][0], "fence": claimed[0][1], "outcome": "completed"})
            running.commit()
            running, following = following, running
    raise AssertionError("claims were never held")


def pauses(connection: Connection) -> list[tuple[str, str | None, bool]]:
    return connection.execute(PAUSES).fetchall()


@contextmanager
def migrating_process(database: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", MIGRATE, database, str(folder / "migrations")]) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_until_held(connection: Connection, process: subprocess.Popen[bytes]) -> None:
    end = monotonic() + DEADLINE
    while ("work", HELD_BY, True) not in pauses(connection):
        assert process.poll() is None, "the process has exited"
        assert monotonic() < end
        sleep(0.01)


@pytest.mark.usefixtures("soon")
def test_overlapping_handler_transactions_do_not_starve_a_migration_of_locks(
    connection: Connection, database: str, worker: Worker, locking: Migrations
) -> None:
    with ThreadPoolExecutor(1) as thread, connect(database, "migrate") as migrator:
        has_begun = Event()
        handlers = thread.submit(pass_on, database, worker, has_begun)
        assert has_begun.wait(DEADLINE)

        assert migrate(migrator, locking, patience=DEADLINE) == ["0001_told"]
        assert handlers.result(DEADLINE) > 1

    assert pauses(connection) == []
    assert can_claim(connection, worker)


@pytest.mark.usefixtures("soon")
def test_failed_migration_lifts_its_own_pauses_only(
    connection: Connection, database: str, worker: Worker, locking: Migrations
) -> None:
    connection.execute("select rolecall.declare(%s)", (Jsonb([{"name": "mail"}, {"name": "post"}]),))
    connection.execute("select rolecall.pause_role('mail', null, 'ada'), rolecall.pause_role('post', 3600, 'bo')")
    before = pauses(connection)
    with open_handler(database, worker), connect(database, "migrate") as migrator, pytest.raises(SchemaBusy):
        migrate(migrator, locking, patience=1)

    assert before == [("mail", "ada", False), ("post", "bo", True)]
    assert pauses(connection) == before


def test_claims_resume_seconds_after_a_migration_is_killed(
    connection: Connection, database: str, worker: Worker, locking: Migrations, tmp_path: Path
) -> None:
    assert locking.read().numbered
    with open_handler(database, worker), migrating_process(database, tmp_path) as process:
        wait_until_held(connection, process)
        assert not can_claim(connection, worker)
        process.send_signal(signal.SIGKILL)
        process.wait()

        end = monotonic() + DEADLINE
        while not can_claim(connection, worker):
            assert monotonic() < end
            sleep(0.05)

    assert pauses(connection) == [("work", HELD_BY, True)], "the pause has expired without being lifted"


def test_role_resumed_during_a_hold_claims_again(
    connection: Connection, database: str, worker: Worker, locking: Migrations, tmp_path: Path
) -> None:
    assert locking.read().numbered
    with open_handler(database, worker), migrating_process(database, tmp_path) as process:
        wait_until_held(connection, process)

        connection.execute("select rolecall.resume_role('work')")

        assert can_claim(connection, worker)


def test_pool_works_between_two_holds_at_least_as_long_as_each_hold(
    connection: Connection, database: str, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(holding, "monotonic", lambda: now)
    held: dict[bool, int] = {True: 0, False: 0}
    in_a_row = longest = 0
    with connect(database, "migrate") as migrator, holding_claims(migrator) as hold:
        for _ in range(120):
            is_held = hold.keep()
            assert bool(pauses(connection)) is is_held
            held[is_held] += 1
            in_a_row = in_a_row + 1 if is_held else 0
            longest = max(longest, in_a_row)
            now += 1.0

    assert (held[True], longest) == (sum(holding.HOLDS), max(holding.HOLDS))
    assert held[False] > held[True]
    assert worker.id


def test_database_without_roles_is_migrated_without_a_hold(conn: Connection) -> None:
    with holding_claims(conn) as hold:
        hold._next_at = 0.0
        assert hold.keep() is False
