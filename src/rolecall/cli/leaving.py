"""The last step of a command: the process ends, whatever threads its handlers left behind."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
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
