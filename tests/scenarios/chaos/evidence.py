"""The evidence of a soak: the files of handlers and producers, and the times of the faults.

It is stored in the database only after the last crash of the server.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.scenarios.chaos import ledger, steady
from tests.scenarios.chaos.server import Server

# An asynchronous commit is on disk after this time, even on a busy machine.
UNDONE_WITHIN = 6.0
# For this long after it was stopped, a worker may start tasks that it claimed before.
THAWED_WITHIN = 2.0
BYTES_A_RUN = 285
FORGET = "truncate chaos.runs, chaos.stops"
STORE_STOPS = """\
insert into chaos.stops
select pid, to_timestamp(at) from unnest(%s::int[], %s::float8[]) as stop (pid, at)"""
STORE_RUNS = """\
insert into chaos.runs
select * from jsonb_to_recordset(%s) as run (
    run text, task_id bigint, handler text, key text, fence int, step int, attempt int, pid int,
    began_at float8, began_clock float8, started boolean, ended_at float8, leased_until float8, shaken boolean
)"""


@dataclass(slots=True)
class FaultRecord:
    """When the server was down, and which processes were stopped, in seconds of the monotonic clock."""

    crashes: list[tuple[float, float]] = field(default_factory=list)
    freezes: dict[int, list[tuple[float, float]]] = field(default_factory=dict)
    stops: list[tuple[int, float]] = field(default_factory=list)

    def stop(self, *pids: int) -> None:
        """Record the current time as the moment at which processes are frozen or killed."""
        self.stops += [(pid, time.time()) for pid in pids]

    def is_near_crash(self, at: float) -> bool:
        """Return whether a crash may have undone an asynchronous commit of that moment."""
        return any(down - UNDONE_WITHIN <= at <= up for down, up in self.crashes)

    def leased_until(self, pid: int, began: float, ended: float | None) -> float | None:
        """Return until when a run of the steady role certainly had its lease, or None if it may never have had one."""
        freezes = self.freezes.get(pid, [])
        if any(stopped <= began <= thawed + THAWED_WITHIN for stopped, thawed in freezes):
            return None
        end = min(ended or began, began + steady.SURE_SECONDS)
        return min([end, *(stopped for stopped, _ in freezes if stopped > began)])


@dataclass(slots=True)
class Notes:
    """The calls acknowledged to the producers, and the numbers of unanswered and interrupted calls."""

    acked: list[int] = field(default_factory=list)
    merged: list[int] = field(default_factory=list)
    replaced: dict[str, int] = field(default_factory=dict)
    unanswered: int = 0
    broken: int = 0


def read_notes(folder: Path) -> Notes:
    """Read the files of all producers. Each line is written in one call, so a killed producer leaves no partial line."""
    notes = Notes()
    for file in folder.glob("*.acked"):
        for what, *words in map(str.split, file.read_text().splitlines()):
            if what == "acked":
                notes.acked += map(int, words)
            elif what == "merged":
                notes.merged += map(int, words)
            elif what == "replaced":
                name, number = words
                notes.replaced[name] = max(int(number), notes.replaced.get(name, 0))
            notes.unanswered += what == "unanswered"
            notes.broken += what == "broken"
    return notes


def count_runs(folder: Path) -> int:
    """Return the approximate number of started handlers, without reading their file."""
    file = folder / ledger.NAME
    return file.stat().st_size // BYTES_A_RUN if file.exists() else 0


def store_runs(server: Server, folder: Path, record: FaultRecord) -> None:
    """Store the handlers' runs in the database, replacing those stored before."""
    server.ask_until_answered(FORGET)
    server.ask_until_answered(STORE_STOPS, ([pid for pid, _ in record.stops], [at for _, at in record.stops]))
    server.ask_until_answered(STORE_RUNS, (json.dumps(list(runs(folder, record))),))


def runs(folder: Path, record: FaultRecord) -> Iterator[dict[str, Any]]:
    """Yield the runs of all handlers from their file."""
    began, started, ended = {}, set(), {}
    for line in _lines(folder / ledger.NAME):
        name = line["run"]
        if line["what"] == "began":
            began[name] = line
        elif line["what"] == "started":
            started.add(name)
        else:
            ended[name] = line["at"]
    for name, line in began.items():
        at, end = line.pop("at"), ended.get(name)
        is_steady = line["handler"] in steady.HANDLERS
        yield line | {
            "began_at": at,
            "began_clock": line["clock"],
            "started": name in started or line["handler"] in steady.NEVER_AGAIN,
            "ended_at": end,
            "leased_until": record.leased_until(line["pid"], at, end) if is_steady else None,
            "shaken": record.is_near_crash(at),
        }


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    if file.exists():
        yield from map(json.loads, file.read_text().splitlines())
