"""The engine of a test: a database with a stopped clock, one role, and relations of other programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest

from rolecall.db.connect import connect
from rolecall.testing import Clock, TestServer
from tests.sql.engine import START, WORK, Engine
from tests.sql.interleavings.stage import Stage
from tests.sql.strangers import add_strangers

Session = Callable[[], Engine]


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
        yield name
    finally:
        postgres_server.drop(name)


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
def stage(engine: Engine, session: Session) -> Stage:
    """Runs the steps of several sessions in every order on the database of this test."""
    return Stage(engine, session)
