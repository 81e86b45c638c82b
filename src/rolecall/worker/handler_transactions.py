"""The transactions that handlers open."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from rolecall.db.after_commit import AfterCommit, make_calls_async
from rolecall.worker.handler_services import Connection, HandlerServices
from rolecall.worker.in_flight import HeldTask


@asynccontextmanager
async def open_transaction(services: HandlerServices, held_by: Mapping[Any, HeldTask]) -> AsyncIterator[Connection]:
    """Open a transaction from the handlers' pool and note which tasks its commit completes."""
    await services.pool.open()
    held_tasks = held_by.values()
    try:
        async with services.pool.connection() as connection:
            services.fork_guard.add(connection)
            after_commit = AfterCommit(connection, held_by)
            async with connection.transaction() as block:
                with after_commit.surround():
                    yield connection
                for held in held_tasks:
                    if held.refusal is not None:
                        raise held.refusal
    except BaseException:
        for held in held_tasks:
            held.is_finishing = False
        raise
    committed = block.status is block.Status.COMMITTED  # a psycopg.Rollback ends the block without an error
    for held in held_tasks:
        held.is_finishing = held.is_finishing and committed
        held.is_committed = held.is_committed or held.is_finishing
    if calls := after_commit.close(block):
        await make_calls_async(calls)
