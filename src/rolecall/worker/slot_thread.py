"""The thread in which a slot calls synchronous functions, one at a time."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context, copy_context
from queue import SimpleQueue
from traceback import FrameSummary
from typing import TypeVar

from rolecall.model.stack_text import frames_since
from rolecall.worker.session import ForkGuard

T = TypeVar("T")
Outcome = tuple[object, BaseException | None]
Call = tuple["asyncio.Future[Outcome]", Context, Callable[..., object], tuple[object, ...]]


class SlotThread:
    """Runs one call at a time. The thread starts with the first call and ends with `stop()`.

    It is a daemon thread, so a handler that never returns does not block the exit.
    """

    def __init__(self, name: str, fork_guard: ForkGuard) -> None:
        self._name = name
        self._fork_guard = fork_guard
        self._calls: SimpleQueue[Call | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    async def call(self, function: Callable[..., T], *arguments: object) -> T:
        """Call the function with the caller's context variables; return its result or raise its error.

        Cancelling the caller does not stop the function.
        """
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        done: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._calls.put((done, copy_context(), function, arguments))
        result, error = await done
        if error is not None:
            raise error
        return result  # type: ignore[return-value]  # what `function` returned

    def frames(self) -> list[FrameSummary]:
        """Return the calls inside the function that runs; none if none runs. Can be called from any thread."""
        thread = self._thread
        if thread is None or thread.ident is None:
            return []
        frame = sys._current_frames().get(thread.ident)  # noqa: SLF001 - the documented way to see another thread
        return frames_since(frame, __file__)

    def stop(self) -> None:
        self._calls.put(None)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            done, context, function, arguments = call
            outcome = context.run(_outcome, function, arguments)
            self._fork_guard.require()
            # If the loop is closed, no caller waits for the outcome.
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
