"""CPU time and memory from /proc (Linux only): of the workers' sessions, the server, and the whole machine."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

PROC = Path("/proc")
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
PARENT, SESSION, USER, SYSTEM, REAPED_USER, REAPED_SYSTEM = 1, 3, 11, 12, 13, 14
IDLE, IO_WAIT = 3, 4
RESIDENT, PAGE = 1, os.sysconf("SC_PAGE_SIZE")
LOOK_SECONDS = 0.5
CALM_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Process:
    """One process; `own` and `reaped` (its ended children) are CPU seconds."""

    pid: int
    parent: int
    session: int
    own: float
    reaped: float


def processes() -> Iterator[Process]:
    """Return every running process."""
    for folder in PROC.iterdir():
        if folder.name.isdecimal():
            try:
                yield _read(folder)
            except (FileNotFoundError, ProcessLookupError):
                continue


def cpu_of_sessions(sessions: set[int]) -> float:
    """Return the CPU seconds of all processes of sessions, including their ended children."""
    return sum(each.own + each.reaped for each in processes() if each.session in sessions)


def cpu_of_process(pid: int) -> float:
    """Return the CPU seconds of one process."""
    return _read(PROC / str(pid)).own


def memory_of_session(session: int) -> int:
    """Return the memory of a session's processes, in bytes."""
    return sum(_resident(each.pid) for each in processes() if each.session == session)


def cpu_of_server(postmaster: int) -> float:
    """Return the CPU seconds of a Postgres server: the postmaster, its running backends and its ended ones."""
    while True:
        root = _read(PROC / str(postmaster))
        backends = sum(each.own for each in processes() if each.parent == postmaster)
        # A backend that ended during the reading may have been counted twice, or not at all.
        if _read(PROC / str(postmaster)).reaped == root.reaped:
            return root.own + root.reaped + backends


def cpu_of_machine() -> float:
    """Return the CPU seconds used by all processes since the machine started."""
    ticks = [int(word) for word in PROC.joinpath("stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(ticks) - ticks[IDLE] - ticks[IO_WAIT]) / TICKS_A_SECOND


def wait_for_calm(patience: float) -> None:
    """Wait until the machine is idle, but at most `patience` seconds."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        before = cpu_of_machine()
        time.sleep(LOOK_SECONDS)
        if cpu_of_machine() - before < CALM_SHARE * LOOK_SECONDS:
            return


class Stopwatch:
    """Measures a block: wall seconds, and CPU seconds of this process and of the server."""

    def __init__(self, postmaster: int) -> None:
        self._postmaster = postmaster
        self.seconds = self.own_cpu = self.server_cpu = 0.0

    def __enter__(self) -> Self:
        self.server_cpu = cpu_of_server(self._postmaster)
        self.own_cpu = time.process_time()
        self.seconds = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.seconds = time.perf_counter() - self.seconds
        self.own_cpu = time.process_time() - self.own_cpu
        self.server_cpu = cpu_of_server(self._postmaster) - self.server_cpu


def _resident(pid: int) -> int:
    try:
        return int((PROC / str(pid) / "statm").read_text().split()[RESIDENT]) * PAGE
    except (FileNotFoundError, ProcessLookupError):
        return 0


def _read(folder: Path) -> Process:
    fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
    ticks = [int(fields[index]) for index in (USER, SYSTEM, REAPED_USER, REAPED_SYSTEM)]
    return Process(
        pid=int(folder.name),
        parent=int(fields[PARENT]),
        session=int(fields[SESSION]),
        own=(ticks[0] + ticks[1]) / TICKS_A_SECOND,
        reaped=(ticks[2] + ticks[3]) / TICKS_A_SECOND,
    )
