"""What a worker asks the pool: tasks for its roles and handlers, when the next one is due, whether to be
notified.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import TypeVar

from rolecall.db.connect import AsyncConnection as Connection
from rolecall.db.run import run_async
from rolecall.sql import tasks
from rolecall.sql.statement import Statement
from rolecall.worker import failpoints
from rolecall.worker.held import Held
from rolecall.worker.repertoire import Repertoire
from rolecall.worker.rollcall import RollCall
from rolecall.worker.session import Session

T = TypeVar("T")


class Claims:
    """Claims on one connection of its own: the engine remembers per connection where its last claim
    stopped.
    """

    def __init__(self, session: Session, roll: RollCall, repertoire: Repertoire) -> None:
        self._session = session
        self._roll = roll
        self._roles = roll.info.roles
        self._repertoire = repertoire
        self.held_back = False  # the task that came next, at the last claim, waits for a free slot

    @property
    def marked_idle(self) -> bool:
        """Whether an enqueue notifies this worker."""
        return self._roll.idle

    async def take(self, limit: int, start: int) -> list[Held]:
        """Claim up to `limit` tasks, best first; the first `start` count as started."""
        claimed, self.held_back = await self._claim(self._repertoire.names, limit, start)
        return claimed

    async def take_more(self, several: Sequence[Held], calls: int) -> list[Held]:
        """Claim what fills up the batch calls that `several` begins; at most `calls` calls are filled.

        A free slot asks for one task; when that one belongs to a batch handler, the slot can take more like
        it.
        """
        more: list[Held] = []
        for runner in {held.runner for held in several if held.runner.most > 1}:
            there = sum(held.runner is runner for held in several)
            missing = runner.most * min(calls, there) - there
            if missing > 0:
                name = next(held.task.handler for held in several if held.runner is runner)
                more += (await self._claim((name,), missing, missing))[0]
        return more

    async def next_due(self) -> float | None:
        """Return the seconds until the earliest pending task is due; None if there is none."""
        return await self._session.run(tasks.next_due(self._roles, self._repertoire.names, self._roll.worker_id))

    async def mark_idle(self, *, idle: bool) -> None:
        await self._roll.mark_idle(self._session, idle=idle)

    async def wake_others(self) -> None:
        await self._roll.wake_others(self._session)

    async def _claim(self, handlers: Sequence[str], limit: int, start: int) -> tuple[list[Held], bool]:
        worker_id = self._roll.worker_id
        statement = tasks.claim_what_fits(worker_id, self._roles, handlers, limit, start)
        asked_at, (claimed, held_back) = await self._session.ask(lambda connection: _timed(connection, statement))
        if claimed:
            failpoints.hit(failpoints.AFTER_CLAIM)
        runner = self._repertoire.runner
        several = [
            Held(task, runner(task), worker_id, asked_at, started=number < start) for number, task in enumerate(claimed)
        ]
        return several, held_back


async def _timed(connection: Connection, statement: Statement[T]) -> tuple[float, T]:
    # The answer may take long, and the leases run from the claim on: only the moment before the question is safe.
    asked_at = monotonic()
    return asked_at, await run_async(connection, statement)
