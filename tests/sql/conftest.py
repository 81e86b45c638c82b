"""The engine of a test: a database with a stopped clock, one role, and relations of other programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest

from rolecall.db.connect import connect
from rolecall.testing import Clock, TestServer, clone
from tests.sql.engine import START, WORK, Engine
from tests.sql.interleavings.stage import Stage
from tests.sql.reused import Reused, ReusedDatabase
from tests.sql.strangers import add_strangers

Session = Callable[[], Engine]


def pytest_configure(config: pytest.Config) -> None:
    """Register a marker for tests that need a new database, for example because they read plans or files."""
    config.addinivalue_line("markers", "own_database: run the test in a new database and a new session")


@pytest.fixture(scope="session")
def database_template(postgres_server: TestServer, database_template: str) -> Iterator[str]:
    """A migrated database that also contains 200 relations of other programs.

    One more template per process costs 0.1 s; running these tests twice would cost minutes.
    """
    name = f"{database_template}_shared"
    postgres_server.create(name, template=database_template)
    try:
        with connect(postgres_server.dsn(name), "testing") as connection:
            add_strangers(connection)
        postgres_server.warm_up(name)
        yield name
    finally:
        postgres_server.drop(name)


@pytest.fixture(scope="session")
def reused(postgres_server: TestServer, database_template: str) -> Iterator[Reused]:
    """The database that tests of this process use one after another."""
    reused = Reused(postgres_server, database_template)
    yield reused
    reused.close()


@pytest.fixture
def borrowed(request: pytest.FixtureRequest) -> Iterator[ReusedDatabase | None]:
    """The reused database for a test of `engine`; None if the test needs its own."""
    names = request.fixturenames
    if "engine" not in names or "live_engine" in names or request.node.get_closest_marker("own_database"):
        yield None
        return
    with request.getfixturevalue("reused").borrow() as database:
        yield database


@pytest.fixture
def database(borrowed: ReusedDatabase | None, postgres_server: TestServer, database_template: str) -> Iterator[str]:
    """The connection string of a database in the state of a new one."""
    if borrowed:
        yield borrowed.dsn
        return
    with clone(postgres_server, database_template) as dsn:
        yield dsn


@pytest.fixture
def connection(borrowed: ReusedDatabase | None, database: str) -> Iterator[psycopg.Connection[Any]]:
    """A session of that database, in autocommit."""
    if borrowed:
        yield borrowed.connection
        return
    with connect(database, "test") as connection:
        yield connection


@pytest.fixture
def engine(connection: psycopg.Connection[Any], clock: Clock, database: str) -> Engine:
    """The engine with a clock that stays at START until the test moves it."""
    clock.set(START)
    engine = Engine(connection, clock, database)
    engine.declare(WORK)
    return engine


@pytest.fixture
def live_engine(connection: psycopg.Connection[Any], database: str) -> Engine:
    """The engine with the server's own clock, for measurements."""
    engine = Engine(connection, Clock(database), database)
    engine.declare(WORK)
    return engine


@pytest.fixture
def session(engine: Engine) -> Iterator[Session]:
    """Opens additional sessions to the engine of this test."""
    with ExitStack() as stack:

        def open_session() -> Engine:
            connection = stack.enter_context(psycopg.connect(engine.database, autocommit=True))
            engine.clock.follow(connection)
            return Engine(connection, engine.clock, engine.database)

        yield open_session


@pytest.fixture
def stage(engine: Engine, session: Session, borrowed: ReusedDatabase) -> Stage:
    """Runs the steps of several sessions in every order on the database of this test."""
    return Stage(engine, session, borrowed.restore_contents)
