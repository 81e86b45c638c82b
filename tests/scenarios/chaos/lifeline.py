"""Ends a process with the one that started it, however that one ended: a pipe tells it."""

from __future__ import annotations

import os
import sys
import threading


def hold() -> None:
    """End this process at once when its standard input does."""
    threading.Thread(target=_wait, name="lifeline", daemon=True).start()


def _wait() -> None:
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)
