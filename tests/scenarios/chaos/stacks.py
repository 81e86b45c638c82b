"""Lets a process of the crew write where it stands, when a signal asks: to its standard output."""

from __future__ import annotations

import asyncio
import faulthandler
import signal
import sys

ASK = signal.SIGUSR1


def tell_threads() -> None:
    """From now on answer with every thread's stack, even one that waits in C code."""
    faulthandler.register(ASK, file=sys.stdout)


def tell_tasks() -> None:
    """Within a running loop: answer with every task's stack, too, if the loop still turns."""
    asyncio.get_running_loop().add_signal_handler(ASK, _write_tasks)
    faulthandler.register(ASK, file=sys.stdout, chain=True)


def _write_tasks() -> None:
    for task in asyncio.all_tasks():
        task.print_stack(file=sys.stdout)
    sys.stdout.flush()
