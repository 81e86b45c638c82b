"""Lets no process outlive the one that started it, however that one ended."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial

PR_SET_PDEATHSIG = 1
LOOK_EVERY = 0.5


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
