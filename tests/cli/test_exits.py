"""A terminated command unwinds at any point of its event loop."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

PROGRAM = """
import asyncio, signal, sys
from rolecall.cli import Terminated, run_unwinding, unwinding_on_signals

# As in a terminal, whoever has started the tests.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

def spin():
    asyncio.get_running_loop().call_soon(spin)

async def wait():
    spin()
    try:
        print("waits", flush=True)
        await asyncio.Event().wait()
    finally:
        print("gives back", flush=True)

try:
    with unwinding_on_signals():
        run_unwinding(wait())
except Terminated as end:
    sys.exit(end.exit_code)
except KeyboardInterrupt:
    sys.exit(130)
"""
SECONDS = 30


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT], ids=lambda number: number.name)
def test_signal_between_two_loop_callbacks_ends_the_command(number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) as command:
        assert command.stdout is not None
        assert command.stdout.readline() == "waits\n"
        command.send_signal(number)
        command.send_signal(number)  # `timeout` signals the process, and then its group

        rest, _ = command.communicate(timeout=SECONDS)

    assert (rest, command.returncode) == ("gives back\n", 128 + number)
