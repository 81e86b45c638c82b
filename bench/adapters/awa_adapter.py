"""Adapter for awa: a Rust core with Python handlers, enqueues by COPY."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import awa  # type: ignore[import-not-found]  # only the peer's own environment has it
import psycopg
import uvloop

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.asked import AT_ONCE, CHUNK, HANDLER_SECONDS, TEXT
from bench.latency import Sent
from bench.processes import Stopwatch
from bench.protocol import Adapter, main, wait_for_beat

WORKERS = AT_ONCE or int(os.environ.get("BENCH_CONCURRENCY", "1024"))
BATCH = int(os.environ.get("BENCH_BATCH", "512"))
POOL = int(os.environ.get("BENCH_POOL", "20"))
DEADLINE_MS = 300_000
QUEUE = awa.PartitionedQueue("bench", 1)
# awa's storage is append-only. Unfinished tasks are those enqueued minus those completed, here or in a pruned segment.
UNFINISHED = """
select coalesce((select sum(awa.sequence_next_value(seq_name) - 1) from awa.queue_enqueue_heads), 0)
    - coalesce((select sum(completed_count) from awa.receipt_completion_batches), 0)
    - coalesce((select sum(live_terminal_count) from awa.queue_terminal_live_counts), 0)
    - coalesce((select sum(terminal_delta) from awa.queue_terminal_count_deltas), 0)
    - coalesce((select sum(pruned_completed_count + pruned_failed_count) from awa.queue_terminal_rollups), 0)
"""


@dataclass
class Noop:
    """A task that does nothing."""

    i: int


@dataclass
class Long:
    """A task with a text payload that does nothing."""

    i: int
    text: str


@dataclass
class Lat:
    """A task that records when it started."""

    i: int


class AwaAdapter(Adapter):
    """Enqueues by COPY, 20,000 tasks per call, and uses ordinary async handlers."""

    name = "awa"
    packages = ("awa-pg", "psycopg", "uvloop")
    settings = MappingProxyType(
        {
            "max_workers": WORKERS,
            "claim_batch_size": BATCH,
            "max_connections": POOL,
            "completion": {name: value for name, value in os.environ.items() if name.startswith("AWA_")},
            "enqueue": f"enqueue_many_copy, {CHUNK} a call",
        }
    )

    def setup(self) -> None:
        async def install() -> None:
            async with self._client() as client:
                await client.migrate()
                # The first worker of a new installation enables its storage.
                self._declare(client)
                await client.start(QUEUE.queue_configs(max_workers_per_partition=1))
                await client.shutdown()

        uvloop.run(install())

    def enqueue(self, number: int, watch: Stopwatch) -> None:
        async def fill() -> None:
            async with self._client() as client:
                await client.health_check()
                with watch:
                    for first in range(0, number, CHUNK):
                        chunk = range(first, min(first + CHUNK, number))
                        await client.enqueue_many_copy([_no_op(i) for i in chunk], queue="bench")

        uvloop.run(fill())

    def enqueue_single(self, number: int, watch: Stopwatch) -> None:
        async def fill() -> None:
            async with self._client() as client:
                await client.health_check()
                with watch:
                    for i in range(number):
                        await client.insert(Noop(i), **QUEUE.route_by_index(0))

        uvloop.run(fill())

    def send(self, numbers: Sequence[int], interval: float) -> list[Sent]:
        async def post() -> list[Sent]:
            async with self._client() as client:
                await client.health_check()
                return [await _send_one(client, *beat) for beat in wait_for_beat(numbers, interval)]

        return uvloop.run(post())

    def work(self) -> None:
        uvloop.run(self._work())

    @contextmanager
    def pending(self) -> Iterator[Callable[[], int]]:
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            yield lambda: int(connection.execute(UNFINISHED).fetchone()[0])  # type: ignore[index]

    async def _work(self) -> None:
        async with self._client(max_connections=POOL) as client:
            self._declare(client)
            await client.start(
                QUEUE.queue_configs(
                    max_workers_per_partition=WORKERS,
                    claimers=1,
                    claim_batch_size=BATCH,
                    deadline_duration_ms=DEADLINE_MS,
                )
            )
            await asyncio.Event().wait()

    def _declare(self, client: Any) -> None:
        @client.task(type(_no_op(0)), queue=QUEUE.physical_queues[0])  # type: ignore[untyped-decorator]
        async def noop(_job: Any) -> None:
            self.tally.tick()
            if HANDLER_SECONDS:
                await asyncio.sleep(HANDLER_SECONDS)

        @client.task(Lat, queue=QUEUE.physical_queues[0])  # type: ignore[untyped-decorator]
        async def lat(job: Any) -> None:
            self.tally.stamp(job.args.i)

    @asynccontextmanager
    async def _client(self, **options: int) -> AsyncIterator[Any]:
        client = awa.AsyncClient(self.dsn, **options)
        yield client
        await client.close()


def _no_op(number: int) -> Noop | Long:
    return Long(number, TEXT) if TEXT else Noop(number)


async def _send_one(client: Any, number: int, wait: float) -> Sent:
    await asyncio.sleep(wait)
    before = time.time_ns()
    await client.insert(Lat(number), **QUEUE.route_by_index(0))
    return Sent(number, before, time.time_ns())


if __name__ == "__main__":
    main(AwaAdapter, __file__)
