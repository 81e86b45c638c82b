"""Stop signals while a callback blocks the event loop.

A loop calls its signal handlers between two callbacks, so it does not react to a signal while one of them blocks. But
Python writes the number of each signal to a wakeup file descriptor at once. Here, a thread reads these numbers and
passes them on to the loop. If the loop does not turn, the thread logs where it is blocked. After a second signal, it
ends the process.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from traceback import FrameSummary
from types import FrameType
from typing import Any

from rolecall.model.error_text import frames_of_callback, place_of
from rolecall.model.stack_text import frames_of_coroutine

# Seconds after a signal.
BLOCKED_AFTER = 1.0
END_WITHIN = 5.0
ENDED_BY_SIGNAL = 128
THREAD = "rolecall-signals"
FIRST = "%s: stopping when %s returns, which blocks the event loop at %s (a second signal ends the process)"
AGAIN = "%s again: the process ends within 5 s, unless %s returns, which blocks the event loop at %s"

log = logging.getLogger("rolecall.worker")


class SignalThread:
    """Reads the signals for the running loop of the main thread. `is_stop` selects the new stop signals."""

    def __init__(self, is_stop: Callable[[int], bool]) -> None:
        self._is_stop = is_stop
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._has_ended = threading.Event()
        self._signals = 0
        self._reader, self._writer = socket.socketpair()
        self._writer.settimeout(0)  # as `signal.set_wakeup_fd` requires
        self._thread = threading.Thread(target=self._read, name=THREAD, daemon=True)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read the signals until the block ends."""
        self._descriptor_of_loop = signal.set_wakeup_fd(self._writer.fileno())
        self._thread.start()
        try:
            yield
        finally:
            signal.set_wakeup_fd(self._descriptor_of_loop)
            self._has_ended.set()
            self._writer.close()
            self._thread.join()
            self._reader.close()

    def _read(self) -> None:
        while numbers := self._reader.recv(1024):
            stops = [signal.Signals(number) for number in numbers if self._is_stop(number)]
            with suppress(OSError):
                os.write(self._descriptor_of_loop, numbers)
            for number in stops:
                self._signals += 1
                turned = threading.Event()
                self._loop.call_soon_threadsafe(turned.set)
                # Two threads, because the log may be what blocks the loop.
                for watch in (self._warn, self._end) if self._signals > 1 else (self._warn,):
                    threading.Thread(target=watch, args=(number, turned), name=THREAD, daemon=True).start()

    def _warn(self, number: signal.Signals, turned: threading.Event) -> None:
        if self._is_blocked(turned, BLOCKED_AFTER):
            text = AGAIN if self._signals > 1 else FIRST
            log.warning(text, number.name, *blocking_callback(self._loop, self._loop_thread))

    def _end(self, number: signal.Signals, turned: threading.Event) -> None:
        if self._is_blocked(turned, END_WITHIN):
            os._exit(ENDED_BY_SIGNAL + number)

    def _is_blocked(self, turned: threading.Event, seconds: float) -> bool:
        return not turned.wait(seconds) and not self._has_ended.is_set()


def blocking_callback(loop: asyncio.AbstractEventLoop, thread: int) -> tuple[str, str]:
    """Return the name of the asyncio task that runs in a loop (for an attempt, its handler), and where it is."""
    task = asyncio.current_task(loop)
    return "a callback" if task is None else task.get_name(), place_of(_frame_of(thread))


def frames_of_task(task: asyncio.Task[Any], loop: asyncio.AbstractEventLoop, thread: int) -> list[FrameSummary]:
    """Return the calls of an asyncio task, outermost first. Can be called from any thread, and for a blocked loop."""
    if asyncio.current_task(loop) is task:
        return frames_of_callback(_frame_of(thread))
    return frames_of_coroutine(task.get_coro())


def _frame_of(thread: int) -> FrameType | None:
    return sys._current_frames().get(thread)  # noqa: SLF001 - the documented way to see another thread
