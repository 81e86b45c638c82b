"""The works: the benchmarks that each peer runs, and the contents of the database for each.

W1   enqueue tasks in bulk                 W3   like W2, with two worker processes
W1s  enqueue one at a time                 W4   latency of single tasks to an idle worker
W2   one worker process drains a queue     W5   like W2, while an old snapshot is held
W6   like W2, with children of waiting parents, 10,000 each: only Rolecall has them
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from bench.peers import AdapterFailed, Answer, Peer
from bench.processes import cpu_of_machine, wait_for_calm
from bench.record import Record, Sizes
from bench.server import Server

WORKS = ("W1", "W1s", "W2", "W3", "W4", "W5", "W6")
WITH_CHILDREN = "rolecall"
HELD_DRAIN_SECONDS = 5.0
MICRO = 1e6
# The works whose WAL is measured: the cost of enqueuing a task and of running it.
IN_WAL = ("W1", "W2")

Work = Callable[[str], Record]


class Round:
    """All works of one peer, once. `repeat` counts the rounds; `asked` is what bench/asked.py reads."""

    def __init__(
        self, server: Server, peer: Peer, sizes: Sizes, repeat: int, asked: Mapping[str, str] | None = None
    ) -> None:
        self._server = server
        self._peer = peer
        self._sizes = sizes
        self._tasks = sizes.tasks * peer.times
        self._repeat = repeat
        self._asked = dict(asked or {})

    def measure(self, works: frozenset[str]) -> Iterator[Record]:
        """Yield the measurements of the selected works; a failure is a measurement with the reason."""
        if self._peer.works:
            works &= self._peer.works
        if "W1s" in works:
            yield self._attempt("W1s", self._single)
        if works & {"W1", "W2"}:
            yield self._attempt("W1", self._bulk)
        if "W2" in works:
            yield self._attempt("W2", self._drain_one)
        if "W3" in works:
            yield self._attempt("W3", self._drain_two)
        if "W4" in works:
            yield self._attempt("W4", self._latency)
        if "W5" in works:
            yield self._attempt("W5", self._drain_held)
        if "W6" in works and self._peer.name.startswith(WITH_CHILDREN):
            yield self._attempt("W6", self._drain_children)

    def _attempt(self, work: str, measure: Work) -> Record:
        try:
            return measure(work)
        except AdapterFailed as error:
            return Record(peer=self._peer.name, work=work, repeat=self._repeat, problem=str(error))

    def _single(self, work: str) -> Record:
        self._fresh()
        return self._record(work, "enqueue-single", str(self._sizes.singles))

    def _bulk(self, work: str) -> Record:
        self._fresh()
        return self._record(work, "enqueue", str(self._tasks))

    def _drain_one(self, work: str) -> Record:
        self._server.analyze()
        return self._drain(work, processes=1)

    def _drain_two(self, work: str) -> Record:
        self._fresh()
        self._fill(self._tasks)
        self._server.analyze()
        return self._drain(work, processes=2)

    def _latency(self, work: str) -> Record:
        self._fresh()
        return self._record(work, "latency", "--count", str(self._sizes.latencies))

    def _drain_held(self, work: str) -> Record:
        self._fresh()
        with self._server.held_snapshot():
            left, facts = self._preload()
            self._fill(self._tasks - left)
            return self._drain(work, processes=1, **facts)

    def _drain_children(self, work: str) -> Record:
        self._fresh()
        self._ask("enqueue-children", str(self._tasks))
        self._server.analyze()
        return self._drain(work, processes=1)

    def _preload(self) -> tuple[int, dict[str, Any]]:
        """Work until there are enough dead rows under the snapshot; return what is still queued, and the rates."""
        preloaded = left = 0
        rates: list[tuple[int, float]] = []
        began = time.monotonic()
        while preloaded < self._sizes.preload and time.monotonic() < began + self._sizes.preload_seconds:
            self._fill(self._tasks - left)
            if not preloaded:
                self._server.analyze()
            spare = max(HELD_DRAIN_SECONDS, began + self._sizes.preload_seconds - time.monotonic())
            answer = self._ask("drain", str(self._tasks), seconds=spare)
            rates.append((preloaded, answer["rate"]))
            preloaded += answer["executed"]
            left = answer["left"]
        return left, {"preloaded": preloaded, "rates": rates}

    def _fresh(self) -> None:
        self._server.empty()
        self._ask("setup")
        self._server.checkpoint()

    def _fill(self, number: int) -> None:
        if number > 0:
            self._ask("enqueue", str(number))

    def _drain(self, work: str, *, processes: int, **facts: Any) -> Record:
        return self._record(work, "drain", str(self._tasks), "--procs", str(processes), **facts)

    def _record(self, work: str, *words: str, **facts: Any) -> Record:
        wait_for_calm(self._sizes.patience)
        position = self._server.wal_position() if work in IN_WAL else None
        before = cpu_of_machine()
        answer = self._ask(*words)
        busy = cpu_of_machine() - before
        own = answer.get("worker_cpu_s", 0.0) + answer.get("server_cpu_s", 0.0)
        record = Record(
            peer=self._peer.name,
            work=work,
            repeat=self._repeat,
            wal=self._wal_a_task(position, answer) if position else None,
            other_cpu=round(max(0.0, busy - own), 2),
            detail=answer | facts,
        )
        return _with_figures(record, answer)

    def _wal_a_task(self, position: str, answer: Answer) -> float | None:
        size = self._server.wal_since(position)
        return None if size is None else round(size / max(1, answer["n"]), 1)

    def _ask(self, *words: str, seconds: float | None = None) -> Answer:
        timeout = {"BENCH_DRAIN_TIMEOUT": str(seconds or self._sizes.drain_seconds)}
        return self._peer.ask(*words, environment=self._server.environment() | self._asked | timeout)


def _with_figures(record: Record, answer: Answer) -> Record:
    """Add the latencies, or the rate with its cost per task."""
    if "rate" not in answer:
        return replace(record, p50=answer["p50"], p95=answer["p95"], p99=answer["p99"])
    number = max(1, answer["cpu_tasks"] if "cpu_tasks" in answer else answer["n"])
    return replace(
        record,
        rate=answer["rate"],
        worker_us=answer["worker_cpu_s"] / number * MICRO,
        server_us=answer["server_cpu_s"] / number * MICRO,
    )
