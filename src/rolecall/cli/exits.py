"""How a command ends: despite threads left by handlers, and with its resources released on a signal."""

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

from rolecall.worker.signals import SignalFilter, handled_signals, handling_signals

T = TypeVar("T")

LEAVE_WITHIN = 2.0
ENDED_BY_SIGNAL = 128
log = logging.getLogger("rolecall.cli")


def leave(code: int) -> NoReturn:
    """Exit. A thread that does not end delays this for two seconds at most."""
    threading.Thread(target=_insist, args=(code,), name="rolecall-exit", daemon=True).start()
    sys.exit(code)


def _insist(code: int) -> None:
    time.sleep(LEAVE_WITHIN)
    log.warning("A thread did not end within %g s; exiting without it", LEAVE_WITHIN)
    sys.stdout.flush()
    os._exit(code)


class Terminated(BaseException):
    """A signal requested the end of this process. Not an Exception, so that handlers of those do not catch it.

    `exit_code` is the shell's exit code for that signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = ENDED_BY_SIGNAL + number


@contextmanager
def unwinding_on_signals() -> Iterator[None]:
    """Raise Terminated in the main thread on SIGTERM and SIGHUP, unless the block installs its own handler.

    An error that follows the signal is replaced by Terminated: task groups and class definitions wrap exceptions.
    SIGINT raises KeyboardInterrupt, as usual. In another thread, signals are not handled.
    """
    if not _is_main_thread():
        yield
        return
    signal_filter = SignalFilter()
    received: list[int] = []

    def unwind(number: int, _frame: FrameType | None) -> None:
        if signal_filter.is_new():
            received.append(number)
            raise Terminated(number)

    before = {number: signal.signal(number, unwind) for number in handled_signals() if number is not signal.SIGINT}
    try:
        yield
    except (Exception, BaseExceptionGroup):
        if not received:
            raise
        raise Terminated(received[0]) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run_unwinding(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine within `unwinding_on_signals`. A signal cancels it; then Terminated is raised.

    An exception raised by a signal handler could end up in the event loop, which may log it and continue.
    """
    return asyncio.run(_cancelled_by_signals(main) if _is_main_thread() else main)


async def _cancelled_by_signals(main: Coroutine[Any, Any, T]) -> T:
    task = asyncio.ensure_future(main)
    received: list[signal.Signals] = []

    def handle_signal(number: signal.Signals) -> None:
        received.append(number)
        task.cancel()

    try:
        with handling_signals(handle_signal):
            return await task
    except asyncio.CancelledError:
        if not received:
            raise
        raise KeyboardInterrupt if received[0] is signal.SIGINT else Terminated(received[0]) from None


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
