"""Fixtures for pytest: a server, a migrated database for every test, connections to it, and its clock.

The server is the one that ROLECALL_TEST_SERVER names (a superuser's connection string), else an embedded one
in memory or else in a temporary folder, which the processes of pytest-xdist share. Override
`migrations` to bring your own tables along. `aconnection` needs pytest-asyncio in auto mode, or anyio.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import psycopg
import pytest

from rolecall.db.connect import connect, connect_async
from rolecall.db.embedded.server import EmbeddedServer
from rolecall.db.embedded.start import ServerOptions
from rolecall.db.migrator import ROLECALL, Migrations
from rolecall.testing import memory
from rolecall.testing.clock import Clock
from rolecall.testing.databases import TestServer, clone, template

VARIABLE = "ROLECALL_TEST_SERVER"
# Nothing in it is worth waiting for a disk, nor much memory.
THROW_AWAY = ServerOptions(extra={"fsync": "off", "max_wal_size": "256MB", "max_prepared_transactions": "20"})


def pytest_unconfigure() -> None:
    """Leave nothing behind, when the last process of the session ends."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        memory.forget()


@pytest.fixture(scope="session")
def migrations() -> Sequence[Migrations]:
    """Whose tables a test database has."""
    return (ROLECALL,)


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestServer]:
    """A real Postgres for the whole session."""
    given = os.environ.get(VARIABLE)
    if given:
        yield TestServer(given)
        return
    in_memory = memory.room()
    folder = tmp_path_factory.getbasetemp()
    shared = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    with EmbeddedServer(in_memory or shared / "postgres", options=THROW_AWAY) as server:
        yield TestServer(server.superuser_dsn(tcp=True), in_memory=in_memory is not None)


@pytest.fixture(scope="session")
def database_template(postgres_server: TestServer, migrations: Sequence[Migrations]) -> Iterator[str]:
    """The name of the migrated database that the tests' databases are cloned from."""
    with template(postgres_server, migrations) as name:
        yield name


@pytest.fixture
def database(postgres_server: TestServer, database_template: str) -> Iterator[str]:
    """The connection string of a fresh, migrated database."""
    with clone(postgres_server, database_template) as dsn:
        yield dsn


@pytest.fixture
def connection(database: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection to the test's database, in autocommit."""
    with connect(database, "test") as connection:
        yield connection


@pytest.fixture
async def aconnection(database: str) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    """An async connection to the test's database, in autocommit."""
    async with await connect_async(database, "test") as connection:
        yield connection


@pytest.fixture
def clock(database: str, connection: psycopg.Connection[Any]) -> Clock:
    """The clock of the test's database; `connection` follows it."""
    clock = Clock(database)
    clock.follow(connection)
    return clock
