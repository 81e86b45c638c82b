"""A child process before it can accept calls."""

from __future__ import annotations

import subprocess
import sys
from multiprocessing.connection import Pipe

from rolecall.worker.subprocess.pool import START


def test_process_whose_worker_has_ended_exits_without_a_traceback() -> None:
    ours, theirs = Pipe()
    ours.close()
    command = [sys.executable, "-c", START, str(theirs.fileno()), "1", "20"]

    ended = subprocess.run(command, pass_fds=[theirs.fileno()], capture_output=True, text=True, timeout=60, check=False)

    assert (ended.returncode, ended.stderr) == (0, "")
