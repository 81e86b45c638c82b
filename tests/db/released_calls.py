"""The calls of a worker and a client of a release, in sessions that stay open while the schema changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

# Each time, two tasks of one key and one without a key.
TASKS = [{"role": "released", "key": "k"}, {"role": "released", "key": "k"}, {"role": "released"}]
REGISTER = "select rolecall.register_worker('older', '{}', '{released}', 9, 'h', 1, '0')"
CLAIM = "select id, fence from rolecall.claim(%s, '{}', '{released}', 9)"
OPEN = "select id, state::text, key from rolecall.tasks"
Connection = psycopg.Connection[Any]


class ReleasedWorker:
    """Enqueues, claims, renews and finishes with the functions of its release."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._ask("select rolecall.declare(%s, %s)", Jsonb([{"name": "released"}]), Jsonb([]))
        [(self._id,)] = self._ask(REGISTER)
        self.done = 0
        self.work_off()

    def work_off(self) -> None:
        """Enqueue tasks with and without a key by both functions, and finish all; raise if any is left."""
        self._ask("select rolecall.enqueue_many(%s)", Jsonb(TASKS))
        self._ask("select rolecall.enqueue('released', '{}', p_key => 'k')")
        while claimed := self._ask(CLAIM, self._id):
            ids, fences = [list(column) for column in zip(*claimed, strict=True)]
            assert self._ask("select * from rolecall.renew(%s, %s, %s)", self._id, ids, fences) == []
            reports = [{"id": id_, "fence": fence, "outcome": "completed"} for id_, fence in claimed]
            assert self._ask("select * from rolecall.finish(%s, %s)", self._id, Jsonb(reports)) == []
            self.done += len(claimed)
        assert self._ask(OPEN) == []

    def _ask(self, query: str, *params: object) -> list[tuple[Any, ...]]:
        return self._connection.execute(query.encode(), params).fetchall()


@contextmanager
def released_worker(dsn: str) -> Iterator[ReleasedWorker]:
    """Run in a session that prepares each statement, so that it also keeps the plans of its release."""
    with psycopg.connect(dsn, autocommit=True, prepare_threshold=0, options="-c statement_timeout=10s") as connection:
        yield ReleasedWorker(connection)


class after_each_step:  # noqa: N801 - used as a function
    """Run the worker after each commit of a migration; `failed` contains the steps after which it failed."""

    def __init__(self, worker: ReleasedWorker) -> None:
        self._worker = worker
        self.seen: list[str] = []
        self.failed: dict[str, str] = {}

    def __call__(self, labels: Sequence[str]) -> None:
        self.seen += labels
        try:
            self._worker.work_off()
        except (psycopg.Error, AssertionError) as error:
            self.failed[labels[-1]] = str(error).partition("\n")[0]
