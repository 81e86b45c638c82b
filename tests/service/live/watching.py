"""Enqueues tasks and waits for messages of a stream."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import psycopg

from rolecall.db.run import run_async
from rolecall.model.tasks import NewTask
from rolecall.service.live import Batch, Stream
from rolecall.sql.enqueue import enqueue_many

# On a busy machine roles are polled rarely: the poller rests for two hundred times the duration of a poll.
LONG = 30.0


async def enqueue(connection: psycopg.AsyncConnection[Any], handler: str = "add", number: int = 1) -> list[int]:
    """Store tasks; return their ids."""
    return [task.id for task in await run_async(connection, enqueue_many([NewTask(handler=handler)] * number))]


async def until(stream: Stream, is_it: Callable[[Batch], bool]) -> Batch:
    """Read batches until one fulfills the condition."""
    async with asyncio.timeout(LONG):
        while True:
            batch = await stream.next(LONG)
            if is_it(batch):
                return batch


async def batch_with(stream: Stream, task_id: int) -> Batch:
    """Read batches until one contains the task."""
    return await until(stream, lambda batch: task_id in batch.tasks)
