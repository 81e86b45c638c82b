"""Adapters for peers that run in Node: each has a script in `node/` that implements its part of the protocol.

BENCH_NODE_MODULES is the folder with their packages. A `node` in it takes precedence over the machine's own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.asked import AT_ONCE, CHUNK
from bench.latency import Sent
from bench.processes import Stopwatch
from bench.protocol import Adapter, Place, main

SCRIPTS = Path(__file__).resolve().parent / "node"
MODULES = Path(os.environ.get("BENCH_NODE_MODULES", "node_modules"))
CONCURRENCY = str(AT_ONCE or os.environ.get("BENCH_CONCURRENCY", ""))
BATCH = str(AT_ONCE or os.environ.get("BENCH_BATCH", ""))
TOLD = {"BENCH_CHUNK": str(CHUNK), "BENCH_CONCURRENCY": CONCURRENCY, "BENCH_BATCH": BATCH}
ENVIRONMENT = {**os.environ, **TOLD, "NODE_PATH": str(MODULES)}


class NodeFailed(Exception):
    """A script returned no result; the message is the end of its output."""


class NodeAdapter(Adapter):
    """The common part of both adapters: calls of their scripts."""

    script: str

    @property
    @abstractmethod
    def unfinished(self) -> str:
        """The query that counts the unfinished tasks in the database."""

    def versions(self) -> Mapping[str, str]:
        result = subprocess.run([_node(), "--version"], capture_output=True, text=True, check=True).stdout
        manifests = {name: json.loads((MODULES / name / "package.json").read_text()) for name in self.packages}
        return {"node": result.strip()} | {name: manifest["version"] for name, manifest in manifests.items()}

    def setup(self) -> None:
        self._finish(self._start("setup"))

    def enqueue(self, number: int, watch: Stopwatch) -> None:
        self._watched(watch, "enqueue", str(number))

    def enqueue_single(self, number: int, watch: Stopwatch) -> None:
        self._watched(watch, "enqueue-single", str(number))

    def send(self, numbers: Sequence[int], interval: float) -> list[Sent]:
        answer = self._finish(self._start("send", json.dumps(list(numbers)), str(interval)))
        return [Sent(number, int(before), int(after)) for number, before, after in answer["sent"]]

    def work(self) -> None:
        """Replace this process with the worker, which keeps the process id and session by which it is measured."""
        os.execve(_node(), [_node(), str(SCRIPTS / self.script), "work"], ENVIRONMENT)

    @contextmanager
    def pending(self) -> Iterator[Callable[[], int]]:
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            yield lambda: int(connection.execute(self.unfinished.encode()).fetchone()[0])  # type: ignore[index]

    def _watched(self, watch: Stopwatch, *words: str) -> None:
        script = self._start(*words)
        if script.stdout and script.stdout.readline() == "ready\n":
            with watch:
                answer = self._finish(script, "go\n")
            watch.own_cpu += answer["cpu_s"]
        else:
            self._finish(script)

    def _start(self, *words: str) -> subprocess.Popen[str]:
        command = [_node(), str(SCRIPTS / self.script), *words]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, env=ENVIRONMENT, stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    def _finish(self, script: subprocess.Popen[str], result: str | None = None) -> Mapping[str, Any]:
        answer, problem = script.communicate(result)
        if script.returncode:
            raise NodeFailed(problem[-800:] or answer[-800:])
        lines = [line for line in answer.splitlines() if line.startswith("{")]
        return dict(json.loads(lines[-1])) if lines else {}


class GraphileAdapter(NodeAdapter):
    """Graphile Worker, which claims many jobs at once into a local queue."""

    name = "graphile-worker"
    packages = ("graphile-worker", "pg")
    settings = MappingProxyType(
        {
            "concurrentJobs": CONCURRENCY,
            "localQueue.size": os.environ.get("BENCH_LOCAL_QUEUE"),
            "maxPoolSize": os.environ.get("BENCH_POOL"),
            "completeJobBatchDelay": 0,
            "enqueue": f"addJobs, {CHUNK} a call",
        }
    )
    script = "graphile.cjs"
    unfinished = "select count(*) from graphile_worker._private_jobs"


class PgBossAdapter(NodeAdapter):
    """pg-boss, whose handlers get a batch: if one job fails, the whole batch fails."""

    name = "pg-boss"
    packages = ("pg-boss", "pg")
    settings = MappingProxyType(
        {
            "batchSize": BATCH,
            "pollingIntervalSeconds": 0.5,
            "wakes": "useListenNotify, queue notify, burstWhenBatchFull",
            "latency": "batchSize 10",
            "enqueue": f"insert, {CHUNK} a call",
        }
    )
    script = "pgboss.cjs"
    unfinished = "select count(*) from pgboss.job where name in ('noop', 'lat') and state < 'completed'"


def _node() -> str:
    own = MODULES / ".bin" / "node"
    return str(own) if own.exists() else shutil.which("node") or "node"


if __name__ == "__main__":
    peers: Mapping[str, Callable[[Place], Adapter]] = {"graphile": GraphileAdapter, "pgboss": PgBossAdapter}
    main(peers[os.environ["BENCH_NODE_PEER"]], __file__)
