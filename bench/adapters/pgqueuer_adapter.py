"""Adapter for PGQueuer: one asyncpg connection, the batch size that is fastest here, uvloop."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

import asyncpg
import uvloop
from pgqueuer import PgQueuer, Queries  # type: ignore[import-not-found]  # the same

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.asked import AT_ONCE, CHUNK, HANDLER_SECONDS, TEXT
from bench.latency import Sent
from bench.processes import Stopwatch
from bench.protocol import Adapter, main, wait_for_beat

# PGQueuer requires room for two batches.
BATCH = AT_ONCE // 2 or int(os.environ.get("BENCH_BATCH", "1000"))
PAYLOAD = f"%d {TEXT}".encode() if TEXT else b"%d"
DEQUEUE_TIMEOUT = timedelta(seconds=30)


class PgQueuerAdapter(Adapter):
    """Enqueues lists, 20,000 tasks per call, and uses ordinary async entrypoints."""

    name = "pgqueuer"
    packages = ("pgqueuer", "asyncpg", "uvloop")
    settings = MappingProxyType(
        {"batch_size": BATCH, "driver": "one asyncpg connection", "durability": "durable (default)"}
    )

    def setup(self) -> None:
        async def install() -> None:
            async with self._queries() as queries:
                await queries.install()

        uvloop.run(install())

    def enqueue(self, number: int, watch: Stopwatch) -> None:
        async def fill() -> None:
            async with self._queries() as queries:
                with watch:
                    for first in range(0, number, CHUNK):
                        chunk = range(first, min(first + CHUNK, number))
                        payloads = [PAYLOAD % i for i in chunk]
                        await queries.enqueue(["noop"] * len(chunk), payloads, [0] * len(chunk))

        uvloop.run(fill())

    def enqueue_single(self, number: int, watch: Stopwatch) -> None:
        async def fill() -> None:
            async with self._queries() as queries:
                with watch:
                    for i in range(number):
                        await queries.enqueue("noop", b"%d" % i)

        uvloop.run(fill())

    def send(self, numbers: Sequence[int], interval: float) -> list[Sent]:
        async def post() -> list[Sent]:
            async with self._queries() as queries:
                return [await self._send_one(queries, *beat) for beat in wait_for_beat(numbers, interval)]

        return uvloop.run(post())

    def work(self) -> None:
        uvloop.run(self._work())

    @contextmanager
    def pending(self) -> Iterator[Callable[[], int]]:
        with asyncio.Runner() as runner:
            connection = runner.run(_connect(self.dsn))
            yield lambda: runner.run(_value(connection, "select count(*) from pgqueuer"))
            runner.run(connection.close())

    async def _send_one(self, queries: Queries, number: int, wait: float) -> Sent:
        await asyncio.sleep(wait)
        before = time.time_ns()
        await queries.enqueue("lat", b"%d" % number)
        return Sent(number, before, time.time_ns())

    async def _work(self) -> None:
        queuer = PgQueuer.from_asyncpg_connection(await _connect(self.dsn))

        @queuer.entrypoint("noop")  # type: ignore[untyped-decorator]
        async def noop(_job: Any) -> None:
            self.tally.tick()
            if HANDLER_SECONDS:
                await asyncio.sleep(HANDLER_SECONDS)

        @queuer.entrypoint("lat")  # type: ignore[untyped-decorator]
        async def lat(job: Any) -> None:
            self.tally.stamp(int(job.payload))

        await queuer.run(batch_size=BATCH, dequeue_timeout=DEQUEUE_TIMEOUT, max_concurrent_tasks=AT_ONCE or None)

    @asynccontextmanager
    async def _queries(self) -> AsyncIterator[Queries]:
        connection = await _connect(self.dsn)
        await connection.execute("select 1")
        yield Queries.from_asyncpg_connection(connection)
        await connection.close()


async def _connect(dsn: str) -> asyncpg.Connection:
    return await asyncpg.connect(dsn)


async def _value(connection: asyncpg.Connection, query: str) -> int:
    return int(await connection.fetchval(query))


if __name__ == "__main__":
    main(PgQueuerAdapter, __file__)
