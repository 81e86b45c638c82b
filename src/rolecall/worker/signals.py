"""SIGTERM and SIGINT: the first one lets running handlers finish, the second one does not."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from rolecall.worker.worker import Worker

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)

log = logging.getLogger("rolecall.worker")


@contextmanager
def stop_on_signals(worker: Worker) -> Iterator[None]:
    """Let the process's stop signals stop this worker; only a program's entry does this, never a library."""
    loop = asyncio.get_running_loop()
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, _on_signal, worker, number)
    try:
        yield
    finally:
        for number in STOP_SIGNALS:
            loop.remove_signal_handler(number)


def _on_signal(worker: Worker, number: signal.Signals) -> None:
    if worker.stopping:
        log.warning("%s again: stopping now", number.name)
        worker.stop(now=True)
    else:
        log.info("%s: stopping, running tasks may finish", number.name)
        worker.stop()
