"""SIGTERM, SIGINT and SIGHUP: the first one lets what runs finish, the second one does not. And no process outlives
the one that started it, however that one ended.

A terminal that is closed, Ctrl-C, `timeout` and service managers signal a whole group of processes: one of it is told
by them and by who started it, within a moment, and takes that for one and the same wish.
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from time import monotonic
from typing import Protocol

# Windows has no SIGHUP, and imports this for the names of an app.
STOP_SIGNALS = tuple(signal.Signals[name] for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name))
# Seconds. Nobody presses Ctrl-C twice within them, and what is passed on comes sooner.
SAME_WISH_WITHIN = 0.2
PR_SET_PDEATHSIG = 1
LOOK_EVERY = 0.5

log = logging.getLogger("rolecall.worker")


class Stops(Protocol):
    """What a stop signal is for: a worker, or a supervisor of processes."""

    @property
    def stopping(self) -> bool: ...

    def stop(self, *, now: bool = False) -> None: ...


def heeded_signals() -> tuple[signal.Signals, ...]:
    """The signals that ask this process to stop; not SIGHUP where it was started to outlive its terminal (nohup)."""
    return tuple(
        number
        for number in STOP_SIGNALS
        if not (number.name == "SIGHUP" and signal.getsignal(number) is signal.SIG_IGN)
    )


@contextmanager
def heeding_signals(heed: Callable[[signal.Signals], object]) -> Iterator[None]:
    """Have the running loop call `heed` for each stop signal that is a wish of its own, see `Wishes`.

    Afterwards they do again what they did before.
    """
    loop = asyncio.get_running_loop()
    wishes = Wishes()

    def hear(number: signal.Signals) -> None:
        if wishes.is_new():
            heed(number)

    before = {number: signal.getsignal(number) for number in heeded_signals()}
    for number in before:
        loop.add_signal_handler(number, hear, number)
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


@contextmanager
def stop_on_signals(*stoppables: Stops) -> Iterator[None]:
    """Let the process's stop signals stop them all; only a program's entry does this, never a library."""
    with heeding_signals(partial(_on_signal, stoppables)):
        yield


class Wishes:
    """Tells a stop signal from one that repeats it."""

    def __init__(self) -> None:
        self._last: float | None = None

    def is_new(self) -> bool:
        """Say, at each signal, whether it asks for more than the one before it did."""
        now = monotonic()
        if self._last is not None and now - self._last < SAME_WISH_WITHIN:
            return False
        self._last = now
        return True


def _on_signal(stoppables: tuple[Stops, ...], number: signal.Signals) -> None:
    again = any(stoppable.stopping for stoppable in stoppables)
    if again:
        log.warning("%s again: stopping now", number.name)
    else:
        log.info("%s: stopping, what runs may finish", number.name)
    for stoppable in stoppables:
        stoppable.stop(now=again)


def following_parent() -> Callable[[], None] | None:
    """Return what, called between fork and exec, makes a child process get SIGTERM when this one ends.

    None where the kernel offers nothing like it.
    """
    if not sys.platform.startswith("linux"):
        return None
    # Everything is looked up here: between fork and exec a child must not import or allocate much.
    return partial(_follow, ctypes.CDLL(None).prctl, os.getpid(), signal.SIGTERM)


def die_with(parent: int) -> None:
    """Let this process be killed when its parent ends: by the kernel, or else by a thread that looks."""
    if sys.platform.startswith("linux"):
        _follow(ctypes.CDLL(None).prctl, parent, signal.SIGKILL)
    else:
        threading.Thread(target=_watch, args=(parent,), name="rolecall-parent", daemon=True).start()


def _follow(prctl: Callable[[int, int], int], parent: int, number: signal.Signals) -> None:
    prctl(PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os._exit(1)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_EVERY)
    os._exit(1)
