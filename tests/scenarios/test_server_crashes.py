"""Effects of a server crash on a claim: no second handler starts while the first one runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rolecall import EmbeddedServer, NewTask, migrate
from rolecall.db.connect import connect
from rolecall.db.run import run, run_async
from rolecall.embedded.start import ServerOptions
from rolecall.model.tasks import ClaimedTask
from rolecall.sql import claims, enqueue, roles, workers
from rolecall.worker.options import WorkerOptions
from rolecall.worker.registration import describe_worker
from rolecall.worker.session import DatabaseSessions
from tests.embedded.helpers import kill_server

# Asynchronous commits reach the disk so late that the crash comes first.
LAZY = ServerOptions(extra={"wal_writer_delay": "10s", "autovacuum": "off"})


class Crashing:
    """A server with one task and two workers, of which all processes are killed at once."""

    def __init__(self, folder: Path, server: EmbeddedServer) -> None:
        self._folder = folder
        self._server = server
        with connect(self.dsn, "migrate") as connection:
            migrate(connection)
            run(connection, roles.declare([{"name": "work"}], []))
            who = describe_worker(WorkerOptions(), {})
            self._workers = [run(connection, workers.register(who)) for _ in range(2)]

    @property
    def dsn(self) -> str:
        return self._server.dsn("crashing")

    def enqueue(self, task: NewTask) -> None:
        with connect(self.dsn, "enqueue") as connection:
            run(connection, enqueue.enqueue_many([task]))

    async def claim(self, worker: int) -> list[ClaimedTask]:
        """Claim as a worker does, on its connection for claims."""
        session = DatabaseSessions(self.dsn, deadline=20).open_relaxed("claim")
        try:
            return await session.run_all(
                lambda connection: run_async(connection, claims.claim(self._workers[worker], (), ("work",), 10, 10))
            )
        finally:
            await session.close()

    def crash(self) -> None:
        kill_server(self._folder)
        self._server.attach()


@pytest.fixture
def crashing(tmp_path: Path) -> Iterator[Crashing]:
    with EmbeddedServer(tmp_path, options=LAZY) as server:
        yield Crashing(tmp_path, server)


async def test_claim_of_an_ordinary_task_can_be_lost(crashing: Crashing) -> None:
    """Ordinary tasks have no stronger guarantee, and the loss shows that the other tests prove something."""
    crashing.enqueue(NewTask(role="work"))
    (first,) = await crashing.claim(0)
    crashing.crash()

    (second,) = await crashing.claim(1)

    assert (second.id, second.fence, second.attempt) == (first.id, 1, 1)


async def test_key_held_before_a_crash_is_still_held_by_the_same_task(crashing: Crashing) -> None:
    crashing.enqueue(NewTask(role="work", key="store:7"))
    assert len(await crashing.claim(0)) == 1
    crashing.crash()
    crashing.enqueue(NewTask(role="work", key="store:7"))

    assert await crashing.claim(1) == []


async def test_only_attempt_made_before_a_crash_still_counts(crashing: Crashing) -> None:
    crashing.enqueue(NewTask(role="work", max_attempts=1))
    assert len(await crashing.claim(0)) == 1
    crashing.crash()

    assert await crashing.claim(1) == []
