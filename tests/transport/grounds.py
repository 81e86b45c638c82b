"""The environments in which all transports are tested, with real servers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg

from rolecall.db.connect import connect_async
from rolecall.db.run import run_async
from rolecall.sql.statement import Statement
from rolecall.testing.notifications import Ground
from rolecall.testing.notifications.ground import postgres
from rolecall.transport.choice import choose
from rolecall.transport.listener import PostgresTransport
from tests import brokers

KINDS = ("postgres", "redis", "nats", "in-process", "poll")
END_EARS = """
select count(pg_terminate_backend(pid, 5000)) from pg_stat_activity
where datname = current_database() and application_name = 'rolecall:ear'
"""


class Ears:
    """The connection on which Postgres sends notifications. It can be cut separately from the others."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._cut = False

    def transport(self) -> PostgresTransport:
        return PostgresTransport(self._connect, self._send)

    async def cut(self) -> None:
        self._cut = True
        with psycopg.connect(self._dsn, autocommit=True) as connection:
            connection.execute(END_EARS)

    async def restore(self) -> None:
        self._cut = False

    async def _connect(self) -> psycopg.AsyncConnection[tuple[object, ...]]:
        if self._cut:
            raise OSError("no route")
        return await connect_async(self._dsn, "ear")

    async def _send(self, statement: Statement[None]) -> None:
        async with await self._connect() as connection:
            await run_async(connection, statement)


@asynccontextmanager
async def ground_of(kind: str, dsn: str) -> AsyncIterator[Ground]:
    """Return the environment of a transport."""
    if kind in {"redis", "nats"}:
        with (brokers.redis if kind == "redis" else brokers.nats)() as server:

            async def cut() -> None:
                server.kill()

            async def restore() -> None:
                server.start()

            yield Ground(dsn=dsn, transport=lambda: choose(server.url, postgres(dsn)), cut=cut, restore=restore)
    elif kind == "postgres":
        ears = Ears(dsn)
        yield Ground(dsn=dsn, transport=ears.transport, cut=ears.cut, restore=ears.restore)
    else:
        yield Ground(dsn=dsn, transport=lambda: choose(kind, postgres(dsn)))
