"""Workers that are known to be dead, whose tasks need not wait for their leases.

    what proves it                     who sees it                          when
    its process has gone               whoever runs on its machine          at the start, every 5 s, and a supervisor
                                       (Linux, the same pid namespace)      whenever a process of its own has ended
    none of its sessions stands        anybody with the database            at two looks, 10 s apart or more, and not
    (it led past every pooler)                                              within a lease of the server's start

What is no proof, such as a machine that lost its power or its network, still takes a lease. A wrong guess does no harm:
the fence refuses what the worker reports later, and whoever was taken for dead offers no proof a second time.
"""

from __future__ import annotations

import logging
import socket
from collections import Counter
from collections.abc import Callable
from functools import partial

from rolecall.maintenance.processes import has_gone, own_process
from rolecall.maintenance.runs import Runs
from rolecall.model.states import TaskState
from rolecall.sql import tasks, workers
from rolecall.sql.statement import Statement

__all__ = ["MOST_RESCUED", "rescue_dead", "rescue_in_batches", "rescue_neighbours", "told_of"]

MOST_RESCUED = 1_000

log = logging.getLogger("rolecall.maintenance")


async def rescue_dead(session: Runs) -> None:
    """Rescue what workers hold that are known to be dead, by either proof."""
    await rescue_neighbours(session)
    unseen = await session.run(workers.unseen())
    await _rescue(session, unseen, "no session of it is left")


async def rescue_neighbours(session: Runs) -> None:
    """Rescue what workers of this machine hold whose process has gone."""
    process = own_process()
    if process is None:
        return
    beside = await session.run(workers.beside(socket.gethostname(), process.space))
    gone = [worker.worker_id for worker in beside if has_gone(worker.pid, worker.started)]
    await _rescue(session, gone, "its process has gone")


async def _rescue(session: Runs, worker_ids: list[int], proof: str) -> None:
    if not worker_ids:
        return
    became = await rescue_in_batches(session, partial(tasks.rescue_workers, worker_ids), MOST_RESCUED)
    # Another process may have been quicker, or somebody keeps from it what they hold.
    level = logging.WARNING if became else logging.INFO
    who = ", ".join(map(str, worker_ids))
    log.log(level, "Worker %s is dead, as %s: rescued %s", who, proof, told_of(became) if became else "nothing")


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
