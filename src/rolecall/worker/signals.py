"""Stop signals (SIGTERM, SIGINT, SIGHUP), and child processes that end with their parent.

The first signal lets running tasks finish, the second aborts them. Closed terminals, Ctrl-C, `timeout` and service
managers signal the whole process group, so a process often gets a signal twice: directly and from its parent. Signals
within 0.2 s count as one. A thread also reads the signals, in case a handler blocks the event loop
(`rolecall.worker.blocked_loop`).
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from time import monotonic
from typing import Protocol

from rolecall.worker.blocked_loop import SignalThread

# Windows has no SIGHUP, and imports this module with the app.
STOP_SIGNALS = tuple(signal.Signals[name] for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name))
# Seconds: shorter than two presses of Ctrl-C, and longer than a parent needs to pass a signal on.
SAME_SIGNAL_WITHIN = 0.2
PR_SET_PDEATHSIG = 1
LOOK_EVERY = 0.5

log = logging.getLogger("rolecall.worker")


class Stops(Protocol):
    """Something that a stop signal stops: a worker or a supervisor."""

    @property
    def stopping(self) -> bool: ...

    def stop(self, *, now: bool = False) -> None: ...


def handled_signals() -> tuple[signal.Signals, ...]:
    """Return the stop signals of this process. SIGHUP is not among them if it was started with nohup."""
    return tuple(
        number
        for number in STOP_SIGNALS
        if not (number.name == "SIGHUP" and signal.getsignal(number) is signal.SIG_IGN)
    )


@contextmanager
def handling_signals(on_signal: Callable[[signal.Signals], object]) -> Iterator[None]:
    """Let the running loop call `on_signal` for each new stop signal (see `SignalFilter`).

    The previous handlers are restored afterwards.
    """
    loop = asyncio.get_running_loop()
    signal_filter = SignalFilter()
    # The thread's decision when each signal arrived. A blocked loop calls `hear` much later.
    decisions: deque[bool] = deque()

    def decide(number: int) -> bool:
        if number not in before:
            return False
        decisions.append(signal_filter.is_new())
        return decisions[-1]

    def hear(number: signal.Signals) -> None:
        # The thread does not read signals if another library has replaced the wakeup file descriptor.
        if decisions.popleft() if decisions else signal_filter.is_new():
            on_signal(number)

    before = {number: signal.getsignal(number) for number in handled_signals()}
    for number in before:
        loop.add_signal_handler(number, hear, number)
    try:
        with SignalThread(decide).reading():
            yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


@contextmanager
def stop_on_signals(*stoppables: Stops) -> Iterator[None]:
    """Stop all of them on the process's stop signals. For programs only, not for libraries."""
    with handling_signals(partial(_on_signal, stoppables)):
        yield


class SignalFilter:
    """Distinguishes a new stop signal from a repeated one."""

    def __init__(self) -> None:
        self._last: float | None = None

    def is_new(self) -> bool:
        now = monotonic()
        if self._last is not None and now - self._last < SAME_SIGNAL_WITHIN:
            return False
        self._last = now
        return True


def _on_signal(stoppables: tuple[Stops, ...], number: signal.Signals) -> None:
    again = any(stoppable.stopping for stoppable in stoppables)
    if again:
        log.warning("%s again: stopping now", number.name)
    else:
        log.info("%s: stopping, running tasks may finish", number.name)
    for stoppable in stoppables:
        stoppable.stop(now=again)


def make_parent_follower() -> Callable[[], None] | None:
    """Return a `preexec_fn` that makes a child process get SIGTERM when this process ends; None outside Linux."""
    if not sys.platform.startswith("linux"):
        return None
    # Everything is looked up here: between fork and exec, a child must not import anything and should not allocate.
    return partial(_follow, ctypes.CDLL(None).prctl, os.getpid(), signal.SIGTERM)


def end_with_parent(parent: int) -> None:
    """Kill this process when its parent ends: by the kernel on Linux, elsewhere by a thread that polls."""
    if sys.platform.startswith("linux"):
        _follow(ctypes.CDLL(None).prctl, parent, signal.SIGKILL)
    else:
        threading.Thread(target=_watch, args=(parent,), name="rolecall-parent", daemon=True).start()


def end_after_parent(parent: int, grace: float) -> None:
    """Kill this process `grace` seconds after the end of its parent.

    For a process that also gets SIGTERM then (`make_parent_follower`). While a module is imported, the exception that
    a signal raises can be suppressed.
    """
    threading.Thread(target=_watch, args=(parent, grace), name="rolecall-parent", daemon=True).start()


def _follow(prctl: Callable[[int, int], int], parent: int, number: signal.Signals) -> None:
    prctl(PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os._exit(1)


def _watch(parent: int, grace: float = 0.0) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_EVERY)
    time.sleep(grace)
    os.kill(os.getpid(), signal.SIGKILL)
