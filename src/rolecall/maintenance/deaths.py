"""Returns tasks of dead workers before their leases end. The evidence decides which tasks:

    evidence                    checked by                            returned at once
    the process has ended       workers and supervisors of the same   all tasks
    (proof of death)            machine, at the start, every 5 s,
                                and when a child process ends
    no session is left in       any process with the database, twice, tasks that have not started; in an idempotent
    the database (no proof)     at least 10 s apart                   role, tasks without a key and with attempts left

All other tasks wait for their leases. A worker whose connections are refused has no session either, but its
handlers still run. docs/concepts/evidence.md explains the rules.
"""

from __future__ import annotations

import logging
import os
import socket
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import starmap

from rolecall.maintenance.processes import has_ended, own_process
from rolecall.maintenance.runs import DutySession
from rolecall.model.states import TaskState
from rolecall.model.workers import Neighbour
from rolecall.sql import claims, workers
from rolecall.sql.statement import Statement

MOST_RESCUED = 1_000

log = logging.getLogger("rolecall.maintenance")


async def rescue_sessionless(session: DutySession) -> None:
    """Release those tasks of workers without a session that may safely run twice."""
    sessionless = await session.run(workers.sessionless())
    if not sessionless:
        return
    statuses = await rescue_in_batches(session, partial(claims.rescue_harmless, sessionless), MOST_RESCUED)
    who = ", ".join(map(str, sessionless))
    returned = describe_counts(statuses) if statuses else "nothing"
    log.warning(
        "Worker %s has no session left: returned %s; its other tasks wait for their leases, because it may be alive",
        who,
        returned,
    )


async def rescue_neighbours(session: DutySession) -> list[Neighbour]:
    """Rescue the tasks of this machine's workers whose process has ended; return all workers of this machine."""
    process = own_process()
    if process is None:
        return []
    local_workers = await session.run(workers.neighbours(socket.gethostname(), process.space))
    gone = [worker.worker_id for worker in local_workers if has_ended(worker.pid, worker.started)]
    await _rescue(session, gone)
    return local_workers


class LocalWorkers:
    """Watches the worker processes of this machine without a database query each time.

    The database is queried when one of them has ended or a worker has registered. `latest` is the highest worker
    id.
    """

    def __init__(self, session: DutySession) -> None:
        self.latest: int | None = None
        self._session = session
        self._known: int | None = None
        self._processes: set[tuple[int, int]] = set()
        self._pending_queries = 1

    async def check(self) -> None:
        if self.latest != self._known:
            # Query twice: a worker id may become visible before a lower one, and before its process is stored.
            self._known, self._pending_queries = self.latest, 2
        if self._pending_queries or any(starmap(has_ended, self._processes)):
            local_workers = await rescue_neighbours(self._session)
            self._processes = {(worker.pid, worker.started) for worker in local_workers if worker.pid != os.getpid()}
            self._pending_queries = max(0, self._pending_queries - 1)


async def _rescue(session: DutySession, worker_ids: list[int]) -> None:
    if not worker_ids:
        return
    statuses = await rescue_in_batches(session, partial(claims.rescue_workers, worker_ids), MOST_RESCUED)
    # Another process may have been faster, or a lock prevents the rescue.
    level = logging.WARNING if statuses else logging.INFO
    who = ", ".join(map(str, worker_ids))
    returned = describe_counts(statuses) if statuses else "nothing"
    log.log(level, "Worker %s is dead, because its process has ended: rescued %s", who, returned)


async def rescue_in_batches(
    session: DutySession, rescue: Callable[[int], Statement[dict[int, TaskState]]], size: int
) -> Counter[str]:
    """Rescue up to `size` tasks at a time until a batch is not full; count the resulting statuses."""
    statuses: Counter[str] = Counter()
    while rescued := await session.run(rescue(size)):
        statuses.update(state.value for state in rescued.values())
        if len(rescued) < size:
            break
    return statuses


def describe_counts(statuses: Counter[str]) -> str:
    """Return the counts as text."""
    return ", ".join(f"{number} {state}" for state, number in sorted(statuses.items()))
