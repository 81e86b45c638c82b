"""The engine's functions for tests: one session, plain values as arguments, typed rows as results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import psycopg
from psycopg.rows import class_row, dict_row
from psycopg.types.json import Jsonb

from rolecall.model.tasks import Task
from rolecall.testing import Clock

START = datetime(2026, 1, 1, tzinfo=UTC)
LEASE = 60
TIMEOUT = 3600
STEP = 10
# The role of most tests: three attempts, and ten seconds more before each retry.
WORK = {
    "name": "work",
    "lease": LEASE,
    "timeout": TIMEOUT,
    "max_attempts": 3,
    "retry": {"kind": "linear", "step": STEP, "cap": 300},
}

Connection = psycopg.Connection[Any]
Document = dict[str, Any]
Claims = Sequence["Claim"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A row of rolecall.claim, and the worker that owns it."""

    worker_id: int
    id: int
    fence: int
    attempt: int
    max_attempts: int | None
    role: str
    handler: str
    priority: int
    payload: Document
    key: str | None
    chain_id: int
    chain_index: int
    scheduled_for: datetime
    created_at: datetime
    lease_seconds: float
    timeout_seconds: float
    step: int
    parent_id: int | None
    last_error: str | None
    key_slot: int | None = None
    expires_seconds: float | None = None
    fire_time: datetime | None = None


class Engine:
    """One session of the engine."""

    def __init__(self, connection: Connection, clock: Clock, database: str) -> None:
        self.connection = connection
        self.clock = clock
        self.database = database

    def rows(self, query: str, *params: object) -> list[tuple[Any, ...]]:
        """Run a statement; return its rows."""
        cursor = self.connection.execute(query.encode(), params or None)
        return cursor.fetchall() if cursor.description is not None else []

    def value(self, query: str, *params: object) -> Any:
        """Run a statement; return its only value."""
        [[value]] = self.rows(query, *params)
        return value

    def declare(self, *roles: Document, handlers: Iterable[Document] = ()) -> None:
        self.rows("select rolecall.declare(%s, %s)", Jsonb(list(roles)), Jsonb(list(handlers)))

    def enqueue(self, role: str = "work", **words: object) -> int:
        """Store one task; return its id."""
        ids, _ = self.enqueue_many([{"role": role, **words}])
        return ids[0]

    def enqueue_many(self, tasks: object) -> tuple[list[int], list[int]]:
        """Store a batch; return the ids, and those of existing tasks."""
        [(ids, deduplicated)] = self.rows("select * from rolecall.enqueue_many(%s)", Jsonb(tasks))
        return ids, deduplicated

    def worker(self, *roles: str, name: str = "worker", slots: int = 1) -> int:
        """Register a worker. Without roles, it serves every role."""
        query = "select rolecall.register_worker(%s, %s, %s, %s, 'host', 1, '0')"
        worker_id: int = self.value(query, name, list(roles), self.handlers(), slots)
        return worker_id

    def handlers(self) -> list[str]:
        """Return every handler name of the test."""
        names: list[str] = self.value(
            "select array(select name from rolecall.handlers union select name from rolecall.roles)"
        )
        return names

    def claim(  # sizes: the parameters of the function itself
        self,
        limit: int = 1,
        *roles: str,
        worker: int | None = None,
        handlers: Sequence[str] | None = None,
        start: int | None = None,
        reset_watermark: bool = True,
    ) -> list[Claim]:
        """Claim for a given or a new worker. `reset_watermark` claims as a new session does.

        A session scans below its watermark only after some milliseconds of the server's clock, or after many
        times the duration of the shorter of its last two scans.
        """
        if reset_watermark:
            self.forget_floors()
        worker_id = self.worker(*roles) if worker is None else worker
        names = self.handlers() if handlers is None else list(handlers)
        with self.connection.cursor(row_factory=class_row(lambda **row: Claim(worker_id=worker_id, **row))) as cursor:
            cursor.execute(
                "select * from rolecall.claim(%s, %s, %s, %s, %s)", (worker_id, list(roles), names, limit, start)
            )
            return cursor.fetchall()

    def claim_in_order(self, worker: int, run: int = 100, limit: int = 100, start: int | None = 0) -> list[Claim]:
        """Claim for a worker, up to `run` tasks for each permit of a key."""
        self.forget_floors()
        with self.connection.cursor(row_factory=class_row(lambda **row: Claim(worker_id=worker, **row))) as cursor:
            query = "select * from rolecall.claim(%s, '{}', %s, %s, %s, %s)"
            return cursor.execute(query, (worker, self.handlers(), limit, start, run)).fetchall()

    def claim_one(self, *roles: str, worker: int | None = None) -> Claim:
        [claim] = self.claim(1, *roles, worker=worker)
        return claim

    def claim_these(
        self, *ids: int | None, worker: int | None = None, start: int | None = None
    ) -> tuple[list[Claim], dict[int, str]]:
        """Claim tasks by id for a given or a new worker; return the claims, and the reasons for other tasks."""
        worker_id = self.worker() if worker is None else worker
        query = "select id as named, verdict, (task).* from rolecall.claim_these(%s, %s, %s)"
        with self.connection.cursor(row_factory=dict_row) as cursor:
            rows = cursor.execute(query, (worker_id, list(ids), start)).fetchall()
        verdicts = {row.pop("named"): row.pop("verdict") for row in rows}
        claimed = [Claim(worker_id=worker_id, **row) for row in rows if row["id"] is not None]
        return claimed, {task_id: verdict for task_id, verdict in verdicts.items() if verdict is not None}

    def offers(self, limit: int = 10, *roles: str, handlers: Sequence[str] | None = None) -> list[int]:
        """Return the tasks that can be offered to workers, best first."""
        query = "select id from rolecall.offers(%s, %s, %s)"
        return [task_id for (task_id,) in self.rows(query, list(roles), handlers, limit)]

    def claim_all(self, worker: int | None = None) -> dict[int, Claim]:
        """Claim all claimable tasks; return the claims by task id."""
        return {claim.id: claim for claim in self.claim(100_000, worker=worker)}

    def start(self, *claims: Claim) -> dict[int, str]:
        return self._about("start", claims)

    def renew(self, *claims: Claim) -> dict[int, str]:
        return self._about("renew", claims)

    def release(self, *claims: Claim) -> dict[int, str]:
        return self._about("release", claims)

    def finish(self, worker: int, *reports: Document) -> dict[int, str]:
        """Send outcomes unchanged; return the verdicts by task."""
        return dict(self.rows("select * from rolecall.finish(%s, %s)", worker, Jsonb(list(reports))))

    def complete(self, claim: Claim, **words: object) -> str | None:
        """Complete one claim; return the verdict."""
        return self.report(claim, "completed", **words)

    def fail(self, claim: Claim, error: str = "boom", **words: object) -> str | None:
        return self.report(claim, "failed", error=error, **words)

    def snooze(self, claim: Claim, after: float) -> str | None:
        return self.report(claim, "snoozed", after=after)

    def report(self, claim: Claim, outcome: str, **words: object) -> str | None:
        return self.finish(claim.worker_id, report(claim, outcome, **words)).get(claim.id)

    def report_info(self, claim: Claim, info: object) -> str | None:
        lost: str | None = self.value(
            "select rolecall.report_info(%s, %s, %s, %s)", claim.worker_id, claim.id, claim.fence, Jsonb(info)
        )
        return lost

    def block(self, claim: Claim, *needs: object) -> str | None:
        """Finish a claim as blocked by needs; return the verdict."""
        return self.report(claim, "blocked", needs=list(needs))

    def spawn(self, parent_id: int, *drafts: Document, serial: bool | None = None) -> list[int]:
        """Add children from outside."""
        ids: list[int] = self.value("select rolecall.spawn(%s, %s, %s)", parent_id, Jsonb(list(drafts)), serial)
        return ids

    def rescue(self, limit: int = 1000) -> dict[int, str]:
        return dict(self.rows("select task_id, state::text from rolecall.rescue(%s)", limit))

    def expire(self, limit: int = 1000) -> dict[int, str]:
        return dict(self.rows("select task_id, state::text from rolecall.expire(%s)", limit))

    def cancel(self, *ids: int) -> dict[int, str]:
        return dict(self.rows("select * from rolecall.cancel(%s)", list(ids)))

    def retry(self, *ids: int) -> dict[int, str]:
        return dict(self.rows("select * from rolecall.retry(%s)", list(ids)))

    def end(self, *ends: Document) -> list[tuple[int, str]]:
        """Finish tasks without a worker; return the result for each."""
        return [
            (task_id, outcome)
            for task_id, outcome in self.rows("select * from rolecall.end_from_outside(%s)", Jsonb(list(ends)))
        ]

    def complete_task(self, task_id: int, result: object = None, **following: object) -> str:
        query = "select rolecall.complete_task(%s, %s, %s)"
        outcome: str = self.value(query, task_id, Jsonb(result), Jsonb(following) if following else None)
        return outcome

    def fail_task(self, task_id: int, error: str | None = None) -> str:
        outcome: str = self.value("select rolecall.fail_task(%s, %s)", task_id, error)
        return outcome

    def delete_chains(self, *ids: int, cascade: bool = False) -> dict[int, int]:
        return dict(self.rows("select * from rolecall.delete_chains(%s, %s)", list(ids), cascade))

    def put_schedule(self, name: str = "tick", every: float = 60, **words: object) -> int:
        document = {"name": name, "every": every, "role": "work", **words}
        schedule_id: int = self.value("select rolecall.put_schedule(%s)", Jsonb(document))
        return schedule_id

    def fire_schedules(self, limit: int = 100) -> list[tuple[str, int | None]]:
        return [(name, task_id) for name, task_id in self.rows("select * from rolecall.fire_schedules(%s)", limit)]

    def trigger(self, name: str = "tick") -> int:
        task_id: int = self.value("select rolecall.trigger_schedule(%s)", name)
        return task_id

    def prune(self) -> dict[str, int]:
        return dict(self.rows("select * from rolecall.prune()"))

    def task(self, task_id: int) -> Task:
        [task] = self._pool("where id = %s", task_id)
        return task

    def tasks(self) -> list[Task]:
        """Return all tasks, open and finished."""
        return self._pool("order by id")

    def state(self, task_id: int) -> str:
        return self.task(task_id).state

    def states(self) -> dict[int, str]:
        return {task.id: task.state for task in self.tasks()}

    def children(self, parent_id: int) -> list[Task]:
        """Return a task's children of all its attempts, open and finished."""
        return self._pool("where parent_id = %s order by id", parent_id)

    def events(self, task_id: int) -> list[str]:
        """Return the kinds of a task's stored events, oldest first."""
        return [kind for (kind,) in self.rows("select kind from rolecall.task_events where task_id = %s", task_id)]

    def forget_floors(self) -> None:
        """Make this session's next claim scan each line from the start, as a new session would."""
        self.rows("select set_config('rolecall.floor_' || id, '', false) from rolecall.lines")

    def _pool(self, which: str, *params: object) -> list[Task]:
        with self.connection.cursor(row_factory=class_row(Task)) as cursor:
            cursor.execute(f"select * from rolecall.all_tasks {which}".encode(), params)
            return cursor.fetchall()

    def _about(self, verb: str, claims: Claims) -> dict[int, str]:
        [worker] = {claim.worker_id for claim in claims}
        query = f"select * from rolecall.{verb}(%s, %s, %s)"
        return dict(self.rows(query, worker, [claim.id for claim in claims], [claim.fence for claim in claims]))


def report(claim: Claim, outcome: str, **words: object) -> Document:
    """Return one outcome for `finish`."""
    return {"id": claim.id, "fence": claim.fence, "outcome": outcome, **words}
