"""The adapter protocol: a program that takes one subcommand and prints one line of JSON at the end.

    info                    name, kind, versions, settings
    setup                   the database is empty: create the schema
    enqueue N               N no-op tasks by the fastest documented bulk call, connections already open
    enqueue-single N        N calls, one at a time, each with its own commit
    enqueue-children N      N no-op tasks as children of waiting parents (if the peer supports it)
    drain N --procs P       run N queued tasks with P worker processes
    latency                 tasks 50 ms apart to an idle worker
    worker                  be ONE worker process until killed

A peer's adapter implements these; the measuring code is here, so that all are measured alike. Standard library
only: an adapter runs in its peer's environment. The variables are those of any harness that implements the
protocol: BENCH_PGDSN, BENCH_PGDATA, BENCH_STATS_DIR, BENCH_DRAIN_TIMEOUT, BENCH_WORKER_LOG.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from bench.drain import Drain
from bench.latency import Latency, Sent
from bench.processes import Stopwatch
from bench.tally import Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The measured server and the folder for measurements, from the harness's variables."""

    dsn: str
    postmaster: int
    folder: Path
    log: Path
    timeout: float

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Place:
        """Read the harness's variables."""
        scratch = Path(tempfile.gettempdir())
        cluster = Path(environment.get("BENCH_PGDATA", scratch / "pgbench" / "data"))
        return cls(
            dsn=environment.get("BENCH_PGDSN", "postgresql://postgres@127.0.0.1:55432/bench"),
            postmaster=int((cluster / "postmaster.pid").read_text().splitlines()[0]),
            folder=Path(environment.get("BENCH_STATS_DIR", scratch / "bench-stats")),
            log=Path(environment.get("BENCH_WORKER_LOG", scratch / "bench-worker.log")),
            timeout=float(environment.get("BENCH_DRAIN_TIMEOUT", "60")),
        )


class Adapter(ABC):
    """Sets up, fills, runs and queries one peer; `packages` are those whose versions are reported."""

    name: str
    packages: Sequence[str]
    settings: Mapping[str, object]

    def __init__(self, place: Place) -> None:
        self.dsn = place.dsn
        self.tally = Tally(place.folder)

    def versions(self) -> Mapping[str, str]:
        """Return the version of each package, and Python's."""
        return {package: metadata.version(package) for package in self.packages}

    @abstractmethod
    def setup(self) -> None:
        """Create the schema in the empty database."""

    @abstractmethod
    def enqueue(self, number: int, watch: Stopwatch) -> None:
        """Enqueue no-op tasks in bulk, within the measurement."""

    @abstractmethod
    def enqueue_single(self, number: int, watch: Stopwatch) -> None:
        """Enqueue no-op tasks one awaited call at a time, within the measurement."""

    def enqueue_children(self, number: int, watch: Stopwatch) -> None:
        """Enqueue no-op tasks as children, 10,000 per parent. Raises NotImplementedError if there are none."""
        raise NotImplementedError(f"{self.name} has no tasks that wait for {number} others ({watch})")

    @abstractmethod
    def send(self, numbers: Sequence[int], interval: float) -> list[Sent]:
        """Enqueue a latency task for each number, one every `interval` seconds."""

    @abstractmethod
    def work(self) -> None:
        """Be one worker process until killed; its tasks call `tally.tick` and `tally.stamp`."""

    @abstractmethod
    def pending(self) -> AbstractContextManager[Callable[[], int]]:
        """Connect, and return a function that counts the unfinished tasks in the database."""


def main(kind: Callable[[Place], Adapter], script: str) -> None:
    """Run the subcommand of the command line."""
    place = Place.read(os.environ)
    adapter = kind(place)
    arguments = _parser().parse_args()
    if arguments.command == "worker":
        adapter.work()
        return
    print(json.dumps(_answer(adapter, place, arguments, str(Path(script).resolve()))), flush=True)


def paced(numbers: Sequence[int], interval: float) -> Iterator[int]:
    """Yield each number at a fixed interval."""
    for number, wait in wait_for_beat(numbers, interval):
        time.sleep(wait)
        yield number


def wait_for_beat(numbers: Sequence[int], interval: float) -> Iterator[tuple[int, float]]:
    """Yield each number with the seconds to sleep before it."""
    began = time.monotonic()
    for beat, number in enumerate(numbers):
        yield number, max(0.0, began + beat * interval - time.monotonic())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("info", "setup", "worker"):
        commands.add_parser(name)
    for name in ("enqueue", "enqueue-single", "enqueue-children", "drain"):
        commands.add_parser(name).add_argument("number", type=int)
    commands.choices["drain"].add_argument("--procs", type=int, default=1)
    latency = commands.add_parser("latency")
    latency.add_argument("--count", type=int, default=200)
    latency.add_argument("--interval", type=float, default=0.05)
    return parser


def _answer(adapter: Adapter, place: Place, arguments: argparse.Namespace, script: str) -> Mapping[str, object]:
    match arguments.command:
        case "info":
            return _info(adapter)
        case "setup":
            adapter.setup()
            return {"ok": True}
        case "enqueue":
            return _enqueued(place, arguments.number, adapter.enqueue)
        case "enqueue-single":
            return _enqueued(place, arguments.number, adapter.enqueue_single)
        case "enqueue-children":
            return _enqueued(place, arguments.number, adapter.enqueue_children)
        case "drain":
            return _drained(adapter, place, arguments, script)
        case _:
            measure = Latency(place.folder, place.log, script)
            return measure.run(adapter.send, arguments.count, arguments.interval)


def _info(adapter: Adapter) -> Mapping[str, object]:
    return {
        "name": adapter.name,
        "kind": "pg",
        "versions": {**adapter.versions(), "python": sys.version.split()[0]},
        "settings": dict(adapter.settings),
    }


def _enqueued(place: Place, number: int, enqueue: Callable[[int, Stopwatch], None]) -> Mapping[str, object]:
    watch = Stopwatch(place.postmaster)
    enqueue(number, watch)
    return {
        "n": number,
        "s": round(watch.seconds, 4),
        "rate": round(number / watch.seconds, 1),
        "worker_cpu_s": round(watch.own_cpu, 4),
        "server_cpu_s": round(watch.server_cpu, 2),
    }


def _drained(adapter: Adapter, place: Place, arguments: argparse.Namespace, script: str) -> Mapping[str, object]:
    with adapter.pending() as pending:
        drain = Drain(place.folder, place.log, place.postmaster, pending)
        return asdict(drain.run(script, arguments.number, arguments.procs, place.timeout))
