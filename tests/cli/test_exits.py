"""A terminated command unwinds at any point of its event loop."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from rolecall.cli import Terminated, unwinding_on_signals

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


def define_class() -> None:
    class Field:
        def __set_name__(self, _owner: type, _name: str) -> None:
            signal.raise_signal(signal.SIGTERM)

    class Declarations:
        field = Field()


def run_task_group() -> None:
    async def spawn() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(SECONDS))
            await asyncio.sleep(0)
            signal.raise_signal(signal.SIGTERM)

    asyncio.run(spawn())


@pytest.mark.parametrize("wrap_exception", [define_class, run_task_group])
def test_signal_whose_exception_is_wrapped_ends_the_command(wrap_exception: Callable[[], None]) -> None:
    with pytest.raises(Terminated) as raised, unwinding_on_signals():
        wrap_exception()

    assert raised.value.exit_code == 128 + signal.SIGTERM


def test_error_without_a_signal_is_raised_unchanged() -> None:
    with pytest.raises(ZeroDivisionError), unwinding_on_signals():
        raise ZeroDivisionError
