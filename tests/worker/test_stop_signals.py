"""Stop signals, as received by a loop."""

from __future__ import annotations

import asyncio
import os
import signal

from rolecall.worker.signals import handling_signals


async def test_immediately_repeated_signal_counts_once() -> None:
    """A process group is signaled as a whole, and the parent forwards the signal too."""
    heard: list[signal.Signals] = []
    told = asyncio.Event()

    def heed(number: signal.Signals) -> None:
        heard.append(number)
        told.set()

    with handling_signals(heed):
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGHUP)
        async with asyncio.timeout(30):
            await told.wait()
        # Pending signals are handled by then: a loop handles them before later callbacks.
        for _ in range(10):
            await asyncio.sleep(0)

    assert len(heard) == 1
