"""A slot: one long-lived coroutine that takes claimed tasks from the board and runs their handlers, one at
a time.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from time import monotonic
from typing import TypeVar

from rolecall.worker.completer import Settler
from rolecall.worker.in_flight import Held
from rolecall.worker.local_queue import Board, Demand
from rolecall.worker.session import Home


class Slot:
    """Awaits handlers directly: no coroutine, timer or context of its own for a task, which is what makes
    it fast.

    The price is that an abort must cancel the slot itself; `interrupt` does so only while a handler is
    running, and the runner that awaited it turns the cancellation back into an outcome, so the slot lives
    on.
    """

    def __init__(self, number: int, board: Board, demand: Demand, *, settler: Settler, home: Home) -> None:
        self.board = board
        self.thread = SlotThread(f"rolecall-slot-{number}", home)
        self._home = home
        self.running: Sequence[Held] = ()
        self._demand = demand
        self._settler = settler
        self._task: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Work until the board closes; a handler that runs then is waited for."""
        self._task = asyncio.current_task()
        board, ready = self.board, self.board.ready
        self._demand.work()
        try:
            while not board.closed:
                held = board.take()
                if held is None:
                    await self._rest()
                    continue
                if len(ready) <= board.call_at:
                    board.call_producer()
                await self._work(held)
                if monotonic() > board.slice_ends:
                    await board.let_the_loop_turn()
        finally:
            self.thread.stop()

    def begin(self, several: Sequence[Held]) -> None:
        """Note what the handler call that comes next works on."""
        began_at = monotonic()
        for held in several:
            held.slot = self
            held.began_at = began_at
            if not held.started:
                self._settler.began(held)
        self.running = several

    def interrupt(self) -> None:
        """Cancel the running handler, if every task it works on must stop and it can be cancelled at all."""
        if self.running and self.running[0].runner.interruptible and self._must_stop and self._task is not None:
            self._task.cancel()

    def absorb(self) -> bool:
        """Take a cancellation back that an abort caused; false when somebody else cancelled the slot."""
        task = self._task
        if task is None or not task.cancelling():
            return True
        if not self._must_stop:
            return False
        while task.cancelling():
            task.uncancel()
        return True

    @property
    def _must_stop(self) -> bool:
        return all(held.aborted or held.ended for held in self.running)

    async def _work(self, held: Held) -> None:
        try:
            await held.runner.run(held, self)
        finally:
            self._home.require()
        running, self.running = self.running, ()
        if running:
            self._demand.note(len(running))

    async def _rest(self) -> None:
        self._demand.rest()
        try:
            await self.board.wait_for_work()
        finally:
            self._demand.work()


T = TypeVar("T")
Outcome = tuple[object, BaseException | None]
Call = tuple["asyncio.Future[Outcome]", Callable[..., object], tuple[object, ...]]


class SlotThread:
    """Runs one call at a time; the thread starts with the first call and ends with `stop()`."""

    def __init__(self, name: str, home: Home) -> None:
        self._name = name
        self._home = home
        self._calls: SimpleQueue[Call | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    async def call(self, function: Callable[..., T], *arguments: object) -> T:
        """Return or raise what the function does; the caller's cancellation does not reach the thread."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        done: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._calls.put((done, function, arguments))
        result, error = await done
        if error is not None:
            raise error
        return result  # type: ignore[return-value]  # what `function` returned

    def stop(self) -> None:
        """Let the thread end after the call that it is in."""
        self._calls.put(None)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            done, function, arguments = call
            outcome = _outcome(function, arguments)
            self._home.require()
            # A loop that is closed waits for nothing.
            with suppress(RuntimeError):
                done.get_loop().call_soon_threadsafe(_deliver, done, outcome)


def _outcome(function: Callable[..., object], arguments: tuple[object, ...]) -> Outcome:
    try:
        return function(*arguments), None
    except BaseException as error:  # noqa: BLE001 - whatever a handler raises belongs to its task
        return None, error


def _deliver(done: asyncio.Future[Outcome], outcome: Outcome) -> None:
    if not done.done():
        done.set_result(outcome)
