"""Counts executions from within the task functions: in shared memory, with start times in a file per process.

A benchmark must not rely on a peer's own counters: a task that runs twice counts twice here.
"""

from __future__ import annotations

import mmap
import os
import struct
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COUNTS = struct.Struct("=qqq")


class Tally:
    """The executions of one process, written below `folder`; thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._memory: mmap.mmap | None = None
        self._count = 0
        self._first = 0
        self._stamps = -1

    def tick(self) -> None:
        """Count one execution of the no-op task."""
        now = time.time_ns()
        with self._lock:
            if self._memory is None:
                self._memory = self._open_counts()
                self._first = now
            self._count += 1
            COUNTS.pack_into(self._memory, 0, self._count, self._first, now)

    def stamp(self, number: int) -> None:
        """Record when the latency task with this number started."""
        now = time.time_ns()
        with self._lock:
            if self._stamps < 0:
                path = self._folder / f"{os.getpid()}.stamps"
                self._stamps = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
            os.write(self._stamps, f"{number} {now}\n".encode())

    def _open_counts(self) -> mmap.mmap:
        with (self._folder / f"{os.getpid()}.counts").open("w+b") as file:
            file.write(bytes(COUNTS.size))
            file.flush()
            return mmap.mmap(file.fileno(), COUNTS.size)


@dataclass(frozen=True, slots=True)
class Counts:
    """Executions of all processes together; the times of the first and the last one in nanoseconds."""

    total: int = 0
    first: int = 0
    last: int = 0


def read_counts(folder: Path) -> Counts:
    """Add up the counts of all processes."""
    each = [COUNTS.unpack(data) for data in _contents(folder, "*.counts") if len(data) == COUNTS.size]
    counted = [counts for counts in each if counts[0]]
    if not counted:
        return Counts()
    totals, firsts, lasts = zip(*counted, strict=True)
    return Counts(sum(totals), min(firsts), max(lasts))


def read_stamps(folder: Path) -> dict[int, int]:
    """Return the first start of every latency task by its number, in nanoseconds."""
    started: dict[int, int] = {}
    for data in _contents(folder, "*.stamps"):
        for line in data.decode().splitlines(keepends=True):
            number, _, moment = line.partition(" ")
            if moment.endswith("\n"):
                started.setdefault(int(number), int(moment))
    return started


def clear(folder: Path) -> None:
    """Delete all counts."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        file.unlink()


def _contents(folder: Path, pattern: str) -> Iterator[bytes]:
    return (file.read_bytes() for file in folder.glob(pattern))
