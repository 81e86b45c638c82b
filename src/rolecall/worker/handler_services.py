"""The services of a worker that its handlers' contexts use."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from psycopg import AsyncConnection

from rolecall.sql.statement import Statement
from rolecall.telemetry.tracing import Tracing
from rolecall.worker.afterwards import AfterCommitCalls
from rolecall.worker.events import WorkerEvents
from rolecall.worker.in_flight import InFlight
from rolecall.worker.large import NOWHERE, LargeFields
from rolecall.worker.program import Contract
from rolecall.worker.session import ForkGuard
from rolecall.worker.subprocess.pool import Processes

Connection = AsyncConnection[tuple[Any, ...]]
T = TypeVar("T")


class Session(Protocol):
    """Executes statements for contexts."""

    async def run(self, statement: Statement[T]) -> T: ...


class ConnectionPool(Protocol):
    """Lends connections for handlers' transactions."""

    async def open(self) -> None: ...

    def connection(self) -> AbstractAsyncContextManager[Connection]: ...


@dataclass(frozen=True, slots=True)
class HandlerServices:
    """The services of all contexts of a worker. `pool` is for transactions of handlers, `session` for the rest."""

    session: Session
    pool: ConnectionPool
    in_flight: InFlight
    loop: asyncio.AbstractEventLoop
    contracts: Mapping[str, Contract]
    processes: Processes
    fork_guard: ForkGuard
    afterwards: AfterCommitCalls
    events: WorkerEvents
    tracing: Tracing | None = None
    large: LargeFields = NOWHERE
