"""How a command ends: whatever threads its handlers left behind, and with what it holds given back on SIGTERM."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

LEAVE_WITHIN = 2.0
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
    """Somebody asked this process to end; not an Exception, because nothing may catch it and go on."""


@contextmanager
def unwinding_on_sigterm() -> Iterator[None]:
    """Raise Terminated in the main thread on SIGTERM, where nobody inside takes the signal for himself."""
    before = signal.signal(signal.SIGTERM, _raise)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _raise(_number: int, _frame: FrameType | None) -> NoReturn:
    raise Terminated
