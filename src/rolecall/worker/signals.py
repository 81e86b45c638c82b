"""SIGTERM and SIGINT: the first one lets what runs finish, the second one does not."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)

log = logging.getLogger("rolecall.worker")


class Stops(Protocol):
    """What a stop signal is for: a worker, or a supervisor of processes."""

    @property
    def stopping(self) -> bool: ...

    def stop(self, *, now: bool = False) -> None: ...


@contextmanager
def stop_on_signals(*several: Stops) -> Iterator[None]:
    """Let the process's stop signals stop them all; only a program's entry does this, never a library."""
    loop = asyncio.get_running_loop()
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, _on_signal, several, number)
    try:
        yield
    finally:
        for number in STOP_SIGNALS:
            loop.remove_signal_handler(number)


def _on_signal(several: tuple[Stops, ...], number: signal.Signals) -> None:
    again = any(each.stopping for each in several)
    if again:
        log.warning("%s again: stopping now", number.name)
    else:
        log.info("%s: stopping, what runs may finish", number.name)
    for each in several:
        each.stop(now=again)
