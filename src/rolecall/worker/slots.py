"""A slot: one long-lived coroutine that takes claimed tasks from the local queue and runs their handlers, one
at a time; and its thread for handlers that are not async.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from time import monotonic
from typing import TypeVar

from rolecall.worker.completer import Completer
from rolecall.worker.in_flight import HeldTask
from rolecall.worker.local_queue import Demand, LocalQueue
from rolecall.worker.session import ForkGuard

T = TypeVar("T")
Outcome = tuple[object, BaseException | None]
Call = tuple["asyncio.Future[Outcome]", Callable[..., object], tuple[object, ...]]


class Slot:
    """Awaits handlers directly: no coroutine, timer or context of its own for a task, which is what makes it
    fast.

    The price is that an abort must cancel the slot itself; `interrupt` does so only while a handler is
    running, and the runner that awaited it turns the cancellation back into an outcome, so the slot lives
    on.
    """

    def __init__(
        self, number: int, local_queue: LocalQueue, demand: Demand, *, completer: Completer, fork_guard: ForkGuard
    ) -> None:
        self._queue = local_queue
        self._thread = SlotThread(f"rolecall-slot-{number}", fork_guard)
        self._fork_guard = fork_guard
        self.running: Sequence[HeldTask] = ()
        self._demand = demand
        self._completer = completer
        self._task: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Work until the queue closes; a handler that runs then is waited for."""
        self._task = asyncio.current_task()
        queue, ready = self._queue, self._queue.ready
        self._demand.work()
        try:
            while not queue.closed:
                held = queue.take()
                if held is None:
                    await self._rest()
                    continue
                if len(ready) <= queue.call_at:
                    queue.call_producer()
                await self._work(held)
                if monotonic() > queue.slice_ends:
                    await queue.let_the_loop_turn()
        finally:
            self._thread.stop()

    def begin(self, held_tasks: Sequence[HeldTask]) -> None:
        """Note what the handler call that comes next works on."""
        began_at = monotonic()
        for held in held_tasks:
            held.slot = self
            held.began_at = began_at
            if not held.started:
                self._completer.began(held)
        self.running = held_tasks

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

    def take_like(self, held: HeldTask, most: int) -> list[HeldTask]:
        """Take up to `most` more tasks of the same handler from the queue."""
        return self._queue.take_like(held, most)

    def call_in_thread(self, function: Callable[..., T], *arguments: object) -> Awaitable[T]:
        """Return or raise what the function does in the slot's thread, which a cancellation does not reach."""
        return self._thread.call(function, *arguments)

    @property
    def _must_stop(self) -> bool:
        return all(held.aborted or held.ended for held in self.running)

    async def _work(self, held: HeldTask) -> None:
        try:
            await held.runner.run(held, self)
        finally:
            self._fork_guard.require()
        running, self.running = self.running, ()
        if running:
            self._demand.note(len(running))

    async def _rest(self) -> None:
        self._demand.rest()
        try:
            await self._queue.wait_for_work()
        finally:
            self._demand.work()


class SlotThread:
    """Runs one call at a time; the thread starts with the first call and ends with `stop()`.

    It is a daemon, so that a handler that never returns cannot hold the exit.
    """

    def __init__(self, name: str, fork_guard: ForkGuard) -> None:
        self._name = name
        self._fork_guard = fork_guard
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
            self._fork_guard.require()
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
