"""Returns tasks of dead workers before their leases end. The evidence decides which tasks:

    evidence                    looked at by                          returned at once
    the process has ended       workers and supervisors of the same   everything
    (a proof)                   machine, at the start, every 5 s,
                                and when a child process ends
    no session is left in       any process with the database, twice, what has not begun; what has no key and another
    the database (no proof)     at least 10 s apart                   attempt left, in an idempotent role

Everything else waits for its lease. A worker whose connections are refused has no session either, and its handlers run.
docs/concepts/evidence.md explains the rules.
"""

from __future__ import annotations

import logging
import os
import socket
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import starmap

from rolecall.maintenance.processes import has_gone, own_process
from rolecall.maintenance.runs import Runs
from rolecall.model.states import TaskState
from rolecall.model.workers import Neighbour
from rolecall.sql import claims, workers
from rolecall.sql.statement import Statement

__all__ = ["MOST_RESCUED", "Neighbours", "rescue_in_batches", "rescue_neighbours", "rescue_unseen", "told_of"]

MOST_RESCUED = 1_000

log = logging.getLogger("rolecall.maintenance")


async def rescue_unseen(session: Runs) -> None:
    """Return the tasks that may run twice of the workers that have no session left."""
    unseen = await session.run(workers.unseen())
    if not unseen:
        return
    became = await rescue_in_batches(session, partial(claims.rescue_harmless, unseen), MOST_RESCUED)
    who = ", ".join(map(str, unseen))
    returned = told_of(became) if became else "nothing"
    log.warning(
        "Worker %s has no session left: returned %s; its other tasks wait for their leases, as it may live",
        who,
        returned,
    )


async def rescue_neighbours(session: Runs) -> list[Neighbour]:
    """Rescue what workers of this machine hold whose process has gone; return all that are known here."""
    process = own_process()
    if process is None:
        return []
    beside = await session.run(workers.beside(socket.gethostname(), process.space))
    gone = [worker.worker_id for worker in beside if has_gone(worker.pid, worker.started)]
    await _rescue(session, gone)
    return beside


class Neighbours:
    """The processes of this machine that are workers, looked at without asking the database who they are each time.

    It is asked when one of them has gone, and when somebody has entered the roll: `latest` is the highest id there.
    """

    def __init__(self, session: Runs) -> None:
        self.latest: int | None = None
        self._session = session
        self._known: int | None = None
        self._processes: set[tuple[int, int]] = set()
        self._asks = 1

    async def look(self) -> None:
        """Rescue what those hold that have gone."""
        if self.latest != self._known:
            # Asked twice: an id may be seen before a lower one, and before it is said which process it is.
            self._known, self._asks = self.latest, 2
        if self._asks or any(starmap(has_gone, self._processes)):
            beside = await rescue_neighbours(self._session)
            self._processes = {(worker.pid, worker.started) for worker in beside if worker.pid != os.getpid()}
            self._asks = max(0, self._asks - 1)


async def _rescue(session: Runs, worker_ids: list[int]) -> None:
    if not worker_ids:
        return
    became = await rescue_in_batches(session, partial(claims.rescue_workers, worker_ids), MOST_RESCUED)
    # Another process may have been quicker, or somebody keeps from it what they hold.
    level = logging.WARNING if became else logging.INFO
    who = ", ".join(map(str, worker_ids))
    returned = told_of(became) if became else "nothing"
    log.log(level, "Worker %s is dead, as its process has ended: rescued %s", who, returned)


async def rescue_in_batches(
    session: Runs, rescue: Callable[[int], Statement[dict[int, TaskState]]], size: int
) -> Counter[str]:
    """Rescue up to `size` tasks at a time until a batch is short; count what became of them."""
    became: Counter[str] = Counter()
    while rescued := await session.run(rescue(size)):
        became.update(state.value for state in rescued.values())
        if len(rescued) < size:
            break
    return became


def told_of(became: Counter[str]) -> str:
    """Say what became of so many tasks."""
    return ", ".join(f"{number} {state}" for state, number in sorted(became.items()))
