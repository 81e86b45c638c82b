"""A worker process to be killed: `python -m tests.scenarios.program DSN FOLDER`."""

from __future__ import annotations

import asyncio
import logging
import sys
from pathlib import Path
from time import monotonic

import psycopg

from rolecall import App, Context, Worker, WorkerOptions, immediate
from rolecall.config import read_settings
from rolecall.worker.loop import run
from rolecall.worker.signals import stop_on_signals
from tests.scenarios.places import Places

LEASE = 1.0
# A lingering task must not be lost when a busy machine delays the renewal of its lease.
LONG_LEASE = 5.0


def make_app(dsn: str, folder: Path) -> App:
    app = App("victim")
    app.role("victim", lease=LEASE, retry=immediate(), max_attempts=5)
    app.keys("tenant:*", capacity=3)
    places = Places(folder)

    @app.task(role="victim")
    async def record(ctx: Context, n: int) -> dict[str, int]:
        """Write to a file, outside of the transaction: this effect may happen twice."""
        await _write(dsn, "insert into effects values (%s, %s)", (ctx.task_id, ctx.idempotency_key))
        ctx.check()
        return {"n": n}

    @app.task(role="victim")
    async def record_and_complete(ctx: Context, n: int) -> None:
        """Write in the transaction that completes the task: this effect happens once."""
        async with ctx.transaction() as tx:
            await tx.execute("insert into effects values (%s, %s)", (ctx.task_id, ctx.idempotency_key))
            ctx.check()
            await ctx.complete(tx, {"n": n})

    @app.task(role="victim")
    async def note(ctx: Context, n: int) -> dict[str, int]:
        """Record when this attempt began, and return."""
        began = monotonic()
        async with ctx.transaction() as tx:
            await tx.execute("insert into begins values (%s, %s)", (ctx.task_id, began))
        return {"n": n}

    @app.task(role="victim", lease=LONG_LEASE)
    async def linger(ctx: Context) -> dict[str, int]:
        """Signal that this attempt has begun, and end on the test's signal."""
        (folder / f"begun-{ctx.attempt}").touch()
        while not (folder / f"go-{ctx.attempt}").exists():
            await asyncio.sleep(0.01)
        return {"attempt": ctx.attempt}

    @app.task(role="victim", lease=LONG_LEASE)
    async def occupy() -> None:
        """Hold one of the places, for much longer than a claim takes."""
        with places.taken():
            await asyncio.sleep(0.4)

    return app


async def _write(dsn: str, query: str, params: tuple[object, ...]) -> None:
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        await connection.execute(query.encode(), params)


async def main(dsn: str, folder: Path) -> None:
    options = WorkerOptions(roles=("victim",), slots=2, grace=5, handoff=read_settings().handoff)
    worker = Worker(make_app(dsn, folder), dsn, options)
    with stop_on_signals(worker):
        await worker.run()


if __name__ == "__main__":
    logging.basicConfig(level="INFO", stream=sys.stderr, format="%(message)s")
    run(main(sys.argv[1], Path(sys.argv[2])))
