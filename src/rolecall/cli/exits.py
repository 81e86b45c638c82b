"""How a command ends: whatever threads its handlers left behind, and with what it holds given back on a signal."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn, TypeVar

from rolecall.worker.signals import Wishes, heeded_signals, heeding_signals

T = TypeVar("T")

LEAVE_WITHIN = 2.0
ENDED_BY_SIGNAL = 128
log = logging.getLogger("rolecall.cli")


def leave(code: int) -> NoReturn:
    """Exit; a thread that never returns holds the interpreter for some seconds at most."""
    threading.Thread(target=_insist, args=(code,), name="rolecall-exit", daemon=True).start()
    sys.exit(code)


def _insist(code: int) -> None:
    time.sleep(LEAVE_WITHIN)
    log.warning("A thread has not ended within %g s; the process ends without it", LEAVE_WITHIN)
    sys.stdout.flush()
    os._exit(code)


class Terminated(BaseException):
    """Somebody asked this process to end; not an Exception, because nothing may catch it and go on.

    `exit_code` is what a shell calls an end by that signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = ENDED_BY_SIGNAL + number


@contextmanager
def unwinding_on_signals() -> Iterator[None]:
    """Raise Terminated in the main thread on SIGTERM and SIGHUP, where nobody inside takes the signal for himself.

    SIGINT raises KeyboardInterrupt, as in every program. In another thread, signals are left to the program.
    """
    if not _is_main_thread():
        yield
        return
    wishes = Wishes()

    def unwind(number: int, _frame: FrameType | None) -> None:
        if wishes.is_new():
            raise Terminated(number)

    before = {number: signal.signal(number, unwind) for number in heeded_signals() if number is not signal.SIGINT}
    try:
        yield
    except BaseExceptionGroup as group:
        # Where it was raised within a group of tasks, that group has wrapped it.
        wrapped = group.subgroup(Terminated)
        if wrapped is None:
            raise
        raise next(_leaves(wrapped)) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run_unwinding(main: Coroutine[Any, Any, T]) -> T:
    """Run a command's coroutine within `unwinding_on_signals`: a signal cancels it, and its end raises Terminated.

    What a signal's handler raises of itself while a loop runs, the loop may take for a callback's error and pass over.
    """
    return asyncio.run(_cancelled_by_signals(main) if _is_main_thread() else main)


async def _cancelled_by_signals(main: Coroutine[Any, Any, T]) -> T:
    task = asyncio.ensure_future(main)
    heard: list[signal.Signals] = []

    def heed(number: signal.Signals) -> None:
        heard.append(number)
        task.cancel()

    try:
        with heeding_signals(heed):
            return await task
    except asyncio.CancelledError:
        if not heard:
            raise
        raise KeyboardInterrupt if heard[0] is signal.SIGINT else Terminated(heard[0]) from None


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error
