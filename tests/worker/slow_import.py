"""A module whose import in a child process takes as long as a test chooses."""

from __future__ import annotations

import os
import time
from pathlib import Path

from rolecall.worker.subprocess.child import MARK

FOLDER = "SLOW_IMPORT_FOLDER"

if MARK in os.environ:
    (Path(os.environ[FOLDER]) / "importing").touch()
    while not (Path(os.environ[FOLDER]) / "go").exists():
        time.sleep(0.01)


def note() -> None:
    """Record that the handler was called."""
    (Path(os.environ[FOLDER]) / "called").touch()
