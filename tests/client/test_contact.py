"""A wrong database is reported at the first call, with the reason."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack, asynccontextmanager
from typing import Any
from uuid import uuid4

import pytest
from psycopg.conninfo import make_conninfo

from rolecall import DatabaseUnavailable
from rolecall.client.source import Source
from rolecall.db.pools import AsyncPools, Pools
from rolecall.testing import TestServer
from tests.client.conftest import Face, Kind

NOBODY_THERE = "host=127.0.0.1 port=1"


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"user": "nobody_here", "password": "wrong"}, "nobody_here"),
        ({"dbname": "no_such_database"}, 'database "no_such_database" does not exist'),
        ({"host": "no-such-host.invalid"}, "no-such-host.invalid"),
        ({"port": "1"}, "refused"),
    ],
)
async def test_wrong_database_is_reported_with_its_reason_at_the_first_call(
    kind: Kind, database: str, wrong: dict[str, str], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "psycopg.pool")
    face = Face(kind, make_conninfo(database, **wrong))

    with pytest.raises(DatabaseUnavailable, match=reason):
        await face("counts")

    # A pool would retry for ten seconds.
    assert caplog.messages == []
    await face("close")


async def test_rejected_client_works_once_the_database_is_available(
    kind: Kind, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    face = Face(kind, None)
    monkeypatch.setenv("DATABASE_URL", NOBODY_THERE)
    with pytest.raises(DatabaseUnavailable):
        await face("counts")

    monkeypatch.setenv("DATABASE_URL", database)

    assert await face("counts") == []
    await face("close")


async def test_connection_timeout_error_contains_the_reason(kind: Kind, postgres_server: TestServer) -> None:
    name = f"rolecall_gone_{uuid4().hex[:12]}"
    postgres_server.create(name)
    async with impatient(kind, postgres_server.dsn(name)) as connection:
        postgres_server.drop(name)

        with pytest.raises(DatabaseUnavailable, match=rf'after 0.20 sec: .*database "{name}" does not exist'):
            async with connection():
                pass


async def test_exhausted_pool_is_reported(kind: Kind, database: str) -> None:
    async with impatient(kind, database) as connection, AsyncExitStack() as stack:
        for _ in range(4):
            await stack.enter_async_context(connection())

        with pytest.raises(DatabaseUnavailable, match="every connection of the pool is in use"):
            async with connection():
                pass


Lend = Callable[[], AbstractAsyncContextManager[Any]]


@asynccontextmanager
async def impatient(kind: Kind, database: str) -> AsyncIterator[Lend]:
    """A client with its own pool, which has connected once; from now on it waits only for a moment."""
    if kind == "async":
        pools = AsyncPools(Source(database))
        (await pools.get()).timeout = 0.2
        yield pools.connection
        await pools.close()
    else:
        plain = Pools(Source(database))
        plain.get().timeout = 0.2
        yield lambda: awaited(plain.connection())
        plain.close()


@asynccontextmanager
async def awaited(lent: AbstractContextManager[Any]) -> AsyncIterator[Any]:
    with lent as connection:
        yield connection
