"""The handlers' records: a file that survives any crash of the server, and rows in the database."""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Any

from psycopg import AsyncConnection

from rolecall import Context, ProcessContext

Connection = AsyncConnection[tuple[Any, ...]]

VARIABLE = "CHAOS_LEDGER"
NAME = "runs"
PAY = "insert into chaos.effects values (%s, %s)"
BEGUN = b"select started_at is not null from rolecall.tasks where id = %s and fence = %s and worker_id = %s"


@dataclass(frozen=True, slots=True)
class Ledger:
    """The file to which all handlers of all workers append when runs begin, start and end. Each line is one write."""

    path: Path
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    # Process ids are reused during a long soak.
    token: str = field(default_factory=lambda: token_hex(3))

    def begin(self, ctx: Context | ProcessContext) -> str:
        """Record that a handler was called, and for which claim. Return the run's name."""
        run = f"{os.getpid()}-{self.token}:{next(self.numbers)}"
        task = ctx.task
        facts = {"task_id": task.id, "handler": task.handler, "key": task.key, "fence": task.fence, "step": task.step}
        self._tell("began", run, facts | {"attempt": task.attempt, "pid": os.getpid()})
        return run

    def start(self, run: str) -> None:
        """Record that the engine has recorded this run as started, so that it counts as an attempt."""
        self._tell("started", run, {})

    def end(self, run: str) -> None:
        """Record that a handler ends. It then only completes its task."""
        self._tell("ended", run, {})

    def _tell(self, what: str, run: str, facts: dict[str, object]) -> None:
        # The monotonic clock, which all processes of this machine share, and the wall clock, which the database reads.
        times = {"at": time.monotonic(), "clock": time.time()}
        line = json.dumps({"what": what, "run": run, **times, **facts}) + "\n"
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(file, line.encode())
        finally:
            os.close(file)


def own_ledger() -> Ledger:
    """The ledger of the soak that this process belongs to."""
    return Ledger(Path(os.environ.get(VARIABLE, os.devnull)))


async def pay(tx: Connection, ctx: Context) -> None:
    """Write a row in the handler's own transaction. It must be committed exactly once."""
    await tx.execute(PAY, (ctx.task_id, ctx.fence))


async def has_started(ctx: Context) -> bool | None:
    """Return whether the engine has recorded the start of this claim, or None if the worker no longer owns it."""
    async with ctx.transaction() as tx:
        cursor = await tx.execute(BEGUN, (ctx.task_id, ctx.fence, ctx.worker_id))
        row = await cursor.fetchone()
        return None if row is None else bool(row[0])
