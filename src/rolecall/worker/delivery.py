"""Brings claimed tasks to the slots, and takes back those that wait there too long."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from time import monotonic

from rolecall.model.states import LostReason
from rolecall.worker.aborts import Aborter
from rolecall.worker.board import Board
from rolecall.worker.held import Hands, Held
from rolecall.worker.keeper import LeaseKeeper
from rolecall.worker.narrator import Narrator
from rolecall.worker.settler import Settler

STALE_AFTER = 0.5


class Delivery:
    """From here on a claimed task is held: its lease is kept until it is settled or given back."""

    def __init__(
        self,
        board: Board,
        hands: Hands,
        *,
        keeper: LeaseKeeper,
        settler: Settler,
        aborter: Aborter,
        narrator: Narrator,
    ) -> None:
        self._board = board
        self._hands = hands
        self._keeper = keeper
        self._settler = settler
        self._aborter = aborter
        self._narrator = narrator
        self._check: asyncio.TimerHandle | None = None

    def deliver(self, several: Sequence[Held], asked_at: float) -> None:
        """Hold tasks, in claim order, and let the slots begin them; the database was asked for them at `asked_at`."""
        for older in self._hands.take(several):
            self._aborter.abort(older, LostReason.TAKEN)
        self._narrator.claimed(several)
        now = monotonic()
        for held in several:
            held.delivered_at = now
        self._board.put(several)
        self._keeper.watch(several, asked_at)
        self._watch_the_line()

    def take_back_all(self) -> None:
        """Give back whatever has not begun."""
        self._settler.give_back(self._board.clear())

    def take_back(self, role: str) -> None:
        """Give back what has not begun of one role: it was paused."""
        waiting = self._board.clear()
        self._board.put(held for held in waiting if held.task.role != role)
        self._settler.give_back(held for held in waiting if held.task.role == role)

    def stop(self) -> None:
        if self._check is not None:
            self._check.cancel()

    def _watch_the_line(self) -> None:
        if self._check is None and self._board.ready:
            self._check = asyncio.get_running_loop().call_later(STALE_AFTER, self._take_back_stale)

    def _take_back_stale(self) -> None:
        # Nothing waits behind a slow handler while another worker may be idle.
        self._check = None
        if stale := self._board.take_older(monotonic() - STALE_AFTER):
            self._settler.give_back(stale)
        self._watch_the_line()
