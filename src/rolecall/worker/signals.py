"""SIGTERM and SIGINT: the first one lets what runs finish, the second one does not. And no process outlives
the one that started it, however that one ended.
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
from typing import Protocol

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
PR_SET_PDEATHSIG = 1
LOOK_EVERY = 0.5

log = logging.getLogger("rolecall.worker")


class Stops(Protocol):
    """What a stop signal is for: a worker, or a supervisor of processes."""

    @property
    def stopping(self) -> bool: ...

    def stop(self, *, now: bool = False) -> None: ...


@contextmanager
def stop_on_signals(*stoppables: Stops) -> Iterator[None]:
    """Let the process's stop signals stop them all; only a program's entry does this, never a library."""
    loop = asyncio.get_running_loop()
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, _on_signal, stoppables, number)
    try:
        yield
    finally:
        for number in STOP_SIGNALS:
            loop.remove_signal_handler(number)


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
