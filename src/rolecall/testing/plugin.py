"""Pytest fixtures: a server, a migrated database for each test, connections, clients and a clock.

ROLECALL_TEST_SERVER names the server (a superuser's connection string). By default, an embedded one runs in memory or
in a temporary folder, shared by the processes of pytest-xdist. Override `task_app` for clients and migrations of your
app, or `database` to use a database of your own (`rolecall.testing.prepare`). `aconnection` and `atask_client` need
pytest-asyncio, in either mode, or anyio.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import psycopg
import pytest

from rolecall.app import App
from rolecall.app.tables import merge_migrations
from rolecall.client.async_client import AsyncClient
from rolecall.client.sync_client import Client
from rolecall.db.connect import connect, connect_async
from rolecall.db.migrations import ROLECALL, Migrations
from rolecall.testing import memory, servers
from rolecall.testing.clock import Clock
from rolecall.testing.databases import TestServer, clone, template, url_of
from rolecall.testing.servers import configured_or_embedded

try:
    # In strict mode, pytest-asyncio accepts only fixtures that are marked as its own.
    from pytest_asyncio import fixture as async_fixture
except ImportError:
    async_fixture: Callable[..., Any] = pytest.fixture  # type: ignore[no-redef]  # anyio takes these


def pytest_configure(config: pytest.Config) -> None:
    """Handle SIGTERM like Ctrl-C, so that fixtures stop the programs they have started."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        config.add_cleanup(_restore_sigterm)


def _restore_sigterm() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def pytest_unconfigure() -> None:
    """Remove the server's folder when the last process of the session ends."""
    servers.close()
    if "PYTEST_XDIST_WORKER" not in os.environ:
        memory.forget()


@pytest.fixture(scope="session")
def task_app() -> App | None:
    """The app under test. Override it for the whole session."""
    return None


@pytest.fixture(scope="session")
def migrations(task_app: App | None) -> Sequence[Migrations]:
    """The app's migrations, applied to test databases in addition to Rolecall's."""
    return task_app.migrations if task_app else ()


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestServer]:
    """A Postgres server for the session."""
    folder = tmp_path_factory.getbasetemp()
    shared = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    with configured_or_embedded(shared / "postgres") as server:
        yield server


@pytest.fixture(scope="session")
def database_template(postgres_server: TestServer, migrations: Sequence[Migrations]) -> Iterator[str]:
    """The name of the migrated database that the tests' databases are cloned from."""
    with template(postgres_server, merge_migrations((ROLECALL,), migrations)) as name:
        yield name


@pytest.fixture
def database(postgres_server: TestServer, database_template: str) -> Iterator[str]:
    """The connection string of a new, migrated database."""
    with clone(postgres_server, database_template) as dsn:
        yield dsn


@pytest.fixture
def database_url(database: str) -> str:
    """The same as a URL, for SQLAlchemy, asyncpg and DATABASE_URL."""
    return url_of(database)


@pytest.fixture
def connection(database: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection to the test's database, in autocommit."""
    with connect(database, "test") as connection:
        yield connection


@async_fixture
async def aconnection(request: pytest.FixtureRequest, database: str) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    """An async connection to the test's database, in autocommit. Follows `clock` if the test uses it."""
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
    """The clock of the test's database. `connection` and `aconnection` follow it. It is restarted after the test."""
    clock = Clock(database)
    clock.follow(connection)
    yield clock
    clock.restart()
