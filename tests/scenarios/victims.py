"""Starts real worker processes, and reads the files that they leave."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.scenarios.program import make_app
from tests.worker.bench import PATIENCE, Bench, until

REPOSITORY = Path(__file__).parents[2]


class Victims:
    """Worker processes of one database; `folder` contains their logs and signals."""

    def __init__(self, bench: Bench, folder: Path) -> None:
        self.bench = bench
        self.folder = folder
        bench.app = make_app(bench.dsn, folder)
        bench.connection.execute("create table effects (task_id bigint, idempotency_key text)")
        bench.connection.execute("create table begins (task_id bigint, began float8)")

    @contextmanager
    def process(self, name: str, failpoint: str = "") -> Iterator[subprocess.Popen[bytes]]:
        """Run a worker process during the block. At its end, the process is killed if it is alive."""
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.scenarios.program", self.bench.dsn, str(self.folder)],
                cwd=REPOSITORY,
                env=os.environ | {"ROLECALL_FAILPOINT": failpoint, "PYTHONPATH": "src:."},
                stderr=log,
            )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()

    def enqueue(self, handler: str, number: int) -> list[int]:
        definition = self.bench.app.handlers[handler]
        return self.bench.enqueue(*(definition.task(n=n) for n in range(number)))

    def effects(self, task_id: int) -> list[str]:
        query = "select idempotency_key from effects where task_id = %s order by 1"
        return [key for (key,) in self.bench.connection.execute(query, (task_id,))]

    def times_finished(self, task_id: int) -> int:
        return int(self.bench.ask("select count(*) from rolecall.finished_tasks where id = %s", task_id))

    def sign(self, name: str) -> Path:
        return self.folder / name


async def ended(process: subprocess.Popen[bytes], within: float = PATIENCE) -> int:
    """Wait until a process exits; return its exit code, which is negative for a signal."""
    await until(lambda: process.poll() is not None, within)
    return await asyncio.to_thread(process.wait)
