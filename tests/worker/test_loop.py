"""The loop of a process that is stopped before it has started."""

from __future__ import annotations

import subprocess
import sys

import pytest

# A real SIGTERM arrives before the loop exists, or while it is created.
PROGRAM = """
import gc, signal
from rolecall.cli.exits import Terminated, unwinding_on_signals
from rolecall.worker import loop

signals, meant = [signal.SIGTERM], {place}.{name}

def interrupted():
    while signals:
        signal.raise_signal(signals.pop())
    return meant()

async def main():
    print("it has begun")

{place}.{name} = interrupted
try:
    with unwinding_on_signals():
        loop.run(main())
except Terminated:
    print("terminated")
"""


@pytest.mark.parametrize(("place", "name"), [("gc", "collect"), ("loop", "new_event_loop")])
def test_signal_before_the_loop_starts_prints_nothing_on_stderr(place: str, name: str) -> None:
    program = PROGRAM.format(place=place, name=name)

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)

    assert (done.returncode, done.stdout, done.stderr) == (0, "terminated\n", "")
