"""One measurement, as it is stored in a file of JSON lines and read by the report."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """The amount of each work: queued tasks, single calls, latency tasks, tasks run under a held snapshot.

    `drain_seconds` limits a drain; tasks that are not done by then count as left over. `patience` is how many seconds
    a measurement may wait for an idle machine.
    """

    tasks: int = 20_000
    singles: int = 2_000
    latencies: int = 200
    preload: int = 500_000
    preload_seconds: float = 100.0
    drain_seconds: float = 40.0
    patience: float = 0.0


QUICK = Sizes(tasks=10_000, singles=300, latencies=60, preload=20_000, preload_seconds=15.0, drain_seconds=15.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The result of one work: tasks per second and CPU microseconds per task, or latencies in milliseconds.

    `wal` is bytes of WAL per task, without full-page images, which depend on the last checkpoint. `other_cpu` is the
    CPU seconds of all other processes meanwhile, including the start of our own programs; `detail` is the adapter's
    result.
    """

    peer: str
    work: str
    repeat: int = 0
    rate: float | None = None
    worker_us: float | None = None
    server_us: float | None = None
    wal: float | None = None
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    other_cpu: float | None = None
    problem: str | None = None
    detail: dict[str, Any] = field(default_factory=dict)


class Log:
    """The file of a session's measurements, after a first line about the machine and the peers."""

    def __init__(self, path: Path, heading: dict[str, Any]) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._write(heading)

    def add(self, record: Record) -> None:
        """Append a measurement, with the time and the machine's load."""
        moment = {"at": time.strftime("%FT%TZ", time.gmtime()), "load": os.getloadavg()[0]}
        facts = {name: value for name, value in asdict(record).items() if value not in (None, {})}
        self._write(moment | facts)

    def _write(self, entry: dict[str, Any]) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps(entry) + "\n")


def read_log(lines: Iterable[str]) -> tuple[dict[str, Any], list[Record]]:
    """Read a session's file: its heading and its measurements."""
    heading, *entries = [json.loads(line) for line in lines]
    known = {each.name for each in fields(Record)}
    return heading, [Record(**{name: entry[name] for name in entry if name in known}) for entry in entries]
