"""Several worker processes as one: started together, restarted when they die, stopped together.

    supervisor ── process 1      ends by itself with 0   leave it be
               ├─ process 2      dies                    start it again, after 0.5 s growing to 30 s
               └─ process 3      supervisor dies         SIGTERM from the kernel (Linux)

The first stop signal is passed on as SIGTERM, the second one as SIGKILL.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import monotonic

from rolecall.wake.backoff import Backoff

FIRST_RESTART = 0.5
LONGEST_RESTART = 30.0
STEADY_AFTER = 10.0
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
PR_SET_PDEATHSIG = 1

log = logging.getLogger("rolecall.supervisor")


@dataclass(slots=True)
class Child:
    """One place that a process fills, again and again."""

    number: int
    process: asyncio.subprocess.Process | None = None
    backoff: Backoff = field(default_factory=lambda: Backoff(FIRST_RESTART, LONGEST_RESTART))

    def send(self, number: signal.Signals) -> None:
        if self.process is not None and self.process.returncode is None:
            self.process.send_signal(number)


class Supervisor:
    """Runs `processes` copies of a command until a stop signal, or until all of them ended well by themselves."""

    def __init__(self, command: Sequence[str], processes: int) -> None:
        self._command = command
        self._children = [Child(number) for number in range(1, processes + 1)]
        self._stopping = asyncio.Event()

    async def run(self) -> int:
        """Keep the processes alive; return the worst exit code of those that ended while stopping."""
        loop = asyncio.get_running_loop()
        for number in STOP_SIGNALS:
            loop.add_signal_handler(number, self.stop)
        try:
            return max(await asyncio.gather(*map(self._keep, self._children)))
        finally:
            for number in STOP_SIGNALS:
                loop.remove_signal_handler(number)

    def stop(self) -> None:
        """Pass a stop on: SIGTERM the first time, SIGKILL after that."""
        passed_on = signal.SIGKILL if self._stopping.is_set() else signal.SIGTERM
        self._stopping.set()
        for child in self._children:
            child.send(passed_on)

    async def _keep(self, child: Child) -> int:
        code = 0
        while not self._stopping.is_set():
            began = monotonic()
            code = await self._run_once(child)
            if code == 0 or self._stopping.is_set():
                break
            if monotonic() - began > STEADY_AFTER:
                child.backoff.reset()
            await self._pause(child, code)
        return max(code, -code)

    async def _run_once(self, child: Child) -> int:
        child.process = await asyncio.create_subprocess_exec(*self._command, preexec_fn=_following_parent())
        log.info("Process %d of %d runs as %d", child.number, len(self._children), child.process.pid)
        if self._stopping.is_set():
            child.send(signal.SIGTERM)
        return await child.process.wait()

    async def _pause(self, child: Child, code: int) -> None:
        delay = child.backoff.next()
        log.warning("Process %d ended with %d, starting it again in %.1f s", child.number, code, delay)
        try:
            async with asyncio.timeout(delay):
                await self._stopping.wait()
        except TimeoutError:
            pass


def _following_parent() -> Callable[[], None] | None:
    """Return what makes a child process end with this one; None where the kernel offers nothing like it."""
    if not sys.platform.startswith("linux"):
        return None
    # Everything is looked up here: between fork and exec a child must not import or allocate much.
    return partial(_follow_parent, ctypes.CDLL(None).prctl, os.getpid())


def _follow_parent(prctl: Callable[[int, int], int], parent: int) -> None:
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(1)
