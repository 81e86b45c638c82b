"""Starts several processes, restarts those that die, and stops them together.

    supervisor ── process 1      exits with 0            is not restarted
               ├─ process 2      dies                    is restarted after 0.5 s, growing to 30 s
               └─ process 3      supervisor dies         gets SIGTERM from the kernel (Linux)

Whenever a process has ended, `on_end` runs concurrently for at most ten seconds, for example to rescue its tasks. The
first stop signal is passed on as SIGTERM, the second one as SIGKILL.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic

from rolecall.model.errors import RolecallError
from rolecall.transport.waker import Backoff, comes_within
from rolecall.worker.signals import make_parent_follower, stop_on_signals

FIRST_RESTART = 0.5
LONGEST_RESTART = 30.0
LONGEST_ON_END = 10.0
STEADY_AFTER = 10.0

# The exit codes of a process that is stopped while Python starts, before it has any work.
STOPPED_EARLY = (-signal.SIGTERM, 128 + signal.SIGTERM)

OnEnd = Callable[[], Awaitable[None]]

log = logging.getLogger("rolecall.supervisor")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """How to start a process: `environment` is added to ours, `descriptors` are inherited open files."""

    name: str
    arguments: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    descriptors: tuple[int, ...] = ()


@dataclass(slots=True)
class SupervisedProcess:
    """A command and its current process."""

    command: Command
    process: asyncio.subprocess.Process | None = None
    backoff: Backoff = field(default_factory=lambda: Backoff(FIRST_RESTART, LONGEST_RESTART))

    def send(self, number: signal.Signals) -> None:
        if self.process is not None and self.process.returncode is None:
            self.process.send_signal(number)


class Supervisor:
    """Runs a process for each command until it is stopped, or until all of them have exited with 0."""

    def __init__(self, commands: Iterable[Command], on_end: OnEnd | None = None) -> None:
        self._processes = [SupervisedProcess(command) for command in commands]
        self._stopping = asyncio.Event()
        self._on_end = on_end
        self._on_end_tasks: set[asyncio.Task[None]] = set()

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    async def run(self) -> int:
        """Run the processes until a stop signal; return their worst exit code."""
        with stop_on_signals(self):
            return await self.keep()

    async def keep(self) -> int:
        """Run the processes until `stop()`; return their worst exit code."""
        code = max(await asyncio.gather(*map(self._keep, self._processes)), default=0)
        await asyncio.gather(*self._on_end_tasks)
        return code

    def stop(self, *, now: bool = False) -> None:
        """Send SIGTERM to all processes, or SIGKILL with `now`."""
        self._stopping.set()
        for supervised_process in self._processes:
            supervised_process.send(signal.SIGKILL if now else signal.SIGTERM)

    async def _keep(self, supervised_process: SupervisedProcess) -> int:
        code = 0
        while not self._stopping.is_set():
            began = monotonic()
            code = await self._run_once(supervised_process)
            self._run_on_end()
            if self._stopping.is_set() and code in STOPPED_EARLY:
                return 0
            if code == 0 or self._stopping.is_set():
                break
            if monotonic() - began > STEADY_AFTER:
                supervised_process.backoff.reset()
            await self._pause(supervised_process, code)
        return max(code, -code)

    async def _run_once(self, supervised_process: SupervisedProcess) -> int:
        supervised_process.process = await start_process(supervised_process.command)
        if self._stopping.is_set():
            supervised_process.send(signal.SIGTERM)
        return await supervised_process.process.wait()

    def _run_on_end(self) -> None:
        if self._on_end is not None:
            task = asyncio.create_task(_run_on_end(self._on_end))
            self._on_end_tasks.add(task)
            task.add_done_callback(self._on_end_tasks.discard)

    async def _pause(self, supervised_process: SupervisedProcess, code: int) -> None:
        delay = supervised_process.backoff.next()
        log.warning("%s ended with %d, starting it again in %.1f s", supervised_process.command.name, code, delay)
        await comes_within(self._stopping, delay)


async def start_process(command: Command) -> asyncio.subprocess.Process:
    """Start a process that gets SIGTERM when this one ends (on Linux)."""
    process = await asyncio.create_subprocess_exec(
        *command.arguments,
        env=os.environ | command.environment,
        preexec_fn=make_parent_follower(),
        pass_fds=command.descriptors,
    )
    log.info("%s runs as process %d", command.name, process.pid)
    return process


async def _run_on_end(on_end: OnEnd) -> None:
    try:
        async with asyncio.timeout(LONGEST_ON_END):
            await on_end()
    except (RolecallError, TimeoutError) as error:
        log.warning("The tasks of an ended process could not be rescued at once: %s", str(error) or "no answer")
