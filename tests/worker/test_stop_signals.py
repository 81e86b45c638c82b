"""Stop signals, as received by a loop."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop

from rolecall.worker.signals import SAME_SIGNAL_WITHIN, handling_signals

Run = Callable[[Coroutine[Any, Any, None]], None]
WITHIN = 30


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    def run_in_loop(main: Coroutine[Any, Any, None]) -> None:
        with asyncio.Runner(loop_factory=request.param) as runner:
            runner.run(main)

    return run_in_loop


async def until(is_true: Callable[[], object]) -> None:
    async with asyncio.timeout(WITHIN):
        while not is_true():
            await asyncio.sleep(0)


def send(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)


def test_immediately_repeated_signal_counts_once(run: Run) -> None:
    """A process group is signaled as a whole, and the parent forwards the signal too."""
    result: list[signal.Signals] = []
    others: list[int] = []

    async def main() -> None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, others.append, signal.SIGUSR1)
        with handling_signals(result.append):
            send(signal.SIGTERM)
            send(signal.SIGHUP)
            send(signal.SIGUSR1)
            await until(lambda: others)

    run(main())
    assert len(result) == 1


def test_two_signals_during_a_blockage_count_twice(run: Run) -> None:
    result: list[signal.Signals] = []

    async def main() -> None:
        with handling_signals(result.append):
            send(signal.SIGTERM)
            threading.Event().wait(3 * SAME_SIGNAL_WITHIN)  # blocks the loop
            send(signal.SIGTERM)
            await until(lambda: len(result) > 1)

    run(main())
    assert result == [signal.SIGTERM] * 2


def test_other_signals_are_passed_on_to_the_loop(run: Run) -> None:
    result: list[int] = []

    async def main() -> None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, result.append, signal.SIGUSR1)
        with handling_signals(lambda number: None):
            send(signal.SIGUSR1)
            await until(lambda: result)

    run(main())
    assert result == [signal.SIGUSR1]


def test_stop_signal_is_handled_after_the_wakeup_descriptor_was_replaced(run: Run) -> None:
    result: list[signal.Signals] = []

    async def main() -> None:
        with handling_signals(result.append):
            # Sets the descriptor to that of the loop.
            asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, lambda: None)
            send(signal.SIGTERM)
            await until(lambda: result)

    run(main())
    assert result == [signal.SIGTERM]
