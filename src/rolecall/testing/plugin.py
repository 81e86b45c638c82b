"""Fixtures for pytest: a server, a migrated database for every test, connections to it, clients, and its clock.

The server is the one that ROLECALL_TEST_SERVER names (a superuser's connection string), else an embedded one
in memory or else in a temporary folder, which the processes of pytest-xdist share. Override `task_app` to have clients
that know your app and tables that it brings along, or `database` to use one of your own (`rolecall.testing.prepare`).
`aconnection` and `atask_client` need pytest-asyncio, in either mode, or anyio; nothing else does.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import psycopg
import pytest

from rolecall.app import App
from rolecall.app.tables import with_others
from rolecall.client.async_client import AsyncClient
from rolecall.client.sync_client import Client
from rolecall.db.connect import connect, connect_async
from rolecall.db.migrator import ROLECALL, Migrations
from rolecall.testing import memory, servers
from rolecall.testing.clock import Clock
from rolecall.testing.databases import TestServer, clone, template, url_of
from rolecall.testing.servers import given_or_embedded

try:
    # In its strict mode it takes no other fixtures for its own.
    from pytest_asyncio import fixture as async_fixture
except ImportError:
    async_fixture: Callable[..., Any] = pytest.fixture  # type: ignore[no-redef]  # anyio takes these


def pytest_unconfigure() -> None:
    """Leave nothing behind, when the last process of the session ends."""
    servers.close()
    if "PYTEST_XDIST_WORKER" not in os.environ:
        memory.forget()


@pytest.fixture(scope="session")
def task_app() -> App | None:
    """The app whose tasks are tested: override it with your own, for the whole session."""
    return None


@pytest.fixture(scope="session")
def migrations(task_app: App | None) -> Sequence[Migrations]:
    """Whose tables a test database has, beside ours."""
    return task_app.migrations if task_app else ()


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestServer]:
    """A real Postgres for the whole session."""
    folder = tmp_path_factory.getbasetemp()
    shared = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    with given_or_embedded(shared / "postgres") as server:
        yield server


@pytest.fixture(scope="session")
def database_template(postgres_server: TestServer, migrations: Sequence[Migrations]) -> Iterator[str]:
    """The name of the migrated database that the tests' databases are cloned from."""
    with template(postgres_server, with_others((ROLECALL,), migrations)) as name:
        yield name


@pytest.fixture
def database(postgres_server: TestServer, database_template: str) -> Iterator[str]:
    """The connection string of a fresh, migrated database."""
    with clone(postgres_server, database_template) as dsn:
        yield dsn


@pytest.fixture
def database_url(database: str) -> str:
    """The same as a URL, as SQLAlchemy, asyncpg and DATABASE_URL have it."""
    return url_of(database)


@pytest.fixture
def connection(database: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection to the test's database, in autocommit."""
    with connect(database, "test") as connection:
        yield connection


@async_fixture
async def aconnection(request: pytest.FixtureRequest, database: str) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    """An async connection to the test's database, in autocommit; it follows `clock`, where a test has one."""
    async with await connect_async(database, "test") as connection:
        if "clock" in request.fixturenames:
            request.getfixturevalue("clock").follow(connection)
        yield connection


@pytest.fixture
def task_client(database: str, task_app: App | None) -> Iterator[Client]:
    """A client of the test's database and of `task_app`."""
    with Client(database, app=task_app) as client:
        yield client


@async_fixture
async def atask_client(database: str, task_app: App | None) -> AsyncIterator[AsyncClient]:
    """An async client of the test's database and of `task_app`."""
    async with AsyncClient(database, app=task_app) as client:
        yield client


@pytest.fixture
def clock(database: str, connection: psycopg.Connection[Any]) -> Iterator[Clock]:
    """The clock of the test's database; `connection` and `aconnection` follow it. It runs again after the test."""
    clock = Clock(database)
    clock.follow(connection)
    yield clock
    clock.restart()
