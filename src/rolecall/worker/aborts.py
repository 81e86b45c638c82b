"""Stops the handlers of tasks that are no longer this worker's to run, and does not wait for ever."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

from rolecall.model.states import LostReason
from rolecall.worker.board import Board
from rolecall.worker.held import Held
from rolecall.worker.outcomes import Outcomes

log = logging.getLogger("rolecall.worker")


class Aborter:
    """Tells a handler why it must stop, then gives it `grace` seconds before its task is reported without
    it.
    """

    def __init__(self, board: Board, outcomes: Outcomes, *, grace: float) -> None:
        self._board = board
        self._outcomes = outcomes
        self._grace = grace

    def abort_each(self, several: Iterable[tuple[Held, LostReason]]) -> None:
        for held, reason in several:
            self.abort(held, reason)

    def abort(self, held: Held, reason: LostReason) -> None:
        """Stop a task for a reason; one that has ended or is stopping already is left alone."""
        if held.ended or held.aborted is not None:
            return
        if reason is LostReason.COMPLETED and held.is_safe:
            # Its own doing, told by an answer that was under way: what the handler still does is its affair.
            return
        held.aborted = reason
        log.info("Task %d (%s) must stop: %s", held.task.id, held.task.handler, reason)
        if self._board.withdraw(held) or held.slot is None:
            self._outcomes.aborted(held)
            return
        held.slot.interrupt()
        asyncio.get_running_loop().call_later(self._grace, self._overdue, held)

    def _overdue(self, held: Held) -> None:
        if held.slot is None or held not in held.slot.running:
            return
        if not held.ended:
            log.warning(
                "The handler of task %d (%s) did not stop within %g s; its slot stays occupied until it does",
                held.task.id,
                held.task.handler,
                self._grace,
            )
            self._outcomes.aborted(held)
        # A handler may have swallowed the cancellation: ask again until it ends.
        held.slot.interrupt()
        asyncio.get_running_loop().call_later(self._grace, self._overdue, held)
