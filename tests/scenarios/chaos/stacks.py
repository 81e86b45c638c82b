"""Makes a process of the crew write its stacks to standard output on a signal."""

from __future__ import annotations

import asyncio
import faulthandler
import signal
import sys

ASK = signal.SIGUSR1


def tell_threads() -> None:
    """Write every thread's stack on the signal, even that of a thread that waits in C code."""
    faulthandler.register(ASK, file=sys.stdout)


def tell_tasks() -> None:
    """Write the stack of every task of the running loop on the signal, if the loop still runs."""
    asyncio.get_running_loop().add_signal_handler(ASK, _write_tasks)
    faulthandler.register(ASK, file=sys.stdout, chain=True)


def _write_tasks() -> None:
    for task in asyncio.all_tasks():
        task.print_stack(file=sys.stdout)
    sys.stdout.flush()
