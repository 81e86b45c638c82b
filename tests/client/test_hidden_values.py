"""Redacted values never reach the log of Postgres, which contains the text of each failed statement."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import uuid4

import psycopg
import pytest

from rolecall import App, AsyncClient, Client, Dedupe, Event, EventType, Redacted
from rolecall.model.errors import ConfigError, RolecallError
from tests.client.doors import DOORS, Door, Psycopg2, ScopedSession, SqlalchemyPsycopg2, visiting

Sql = psycopg.Connection[Any]
ONCE: dict[str, Any] = {"dedupe_key": "once", "dedupe": Dedupe(mode="error")}
OF_PSYCOPG2 = (Psycopg2, SqlalchemyPsycopg2, ScopedSession)


@pytest.fixture
def secret() -> str:
    return f"card-{uuid4().hex}"


@pytest.fixture
def app() -> App:
    app = App("shop")

    @app.task
    def pay(card: Annotated[str, Redacted]) -> None:
        """Charges a card."""

    return app


class Events:
    """A sink. With one, clients send further queries with each statement to collect events."""

    def __init__(self) -> None:
        self.types: list[str] = []

    def emit(self, event: Event) -> None:
        self.types.append(event.type)


@pytest.mark.parametrize("kind", DOORS, ids=[kind.__name__ for kind in DOORS])
async def test_redacted_value_is_not_logged_with_any_library(
    kind: type[Door], database: str, app: App, connection: Sql, secret: str
) -> None:
    async with visiting(kind, database, app, database) as visitor:
        if not issubclass(kind, OF_PSYCOPG2):
            await visitor("enqueue", "pay", {"card": secret}, **ONCE)
        with pytest.raises(ConfigError if issubclass(kind, OF_PSYCOPG2) else RolecallError):
            await visitor("enqueue", "pay", {"card": secret}, **ONCE)
        await visitor.door.rollback()

    assert secret not in log_of(connection)


@pytest.mark.parametrize("kind", OF_PSYCOPG2)
async def test_psycopg2_is_rejected_for_a_handler_declared_only_in_the_database(
    kind: type[Door], database: str, app: App, connection: Sql, secret: str
) -> None:
    with Client(database, app=app) as client:
        client.open()

    async with visiting(kind, database, App("other"), database) as visitor:
        with pytest.raises(ConfigError, match="hidden values"):
            await visitor("enqueue", "pay", {"card": secret})

    assert connection.execute("select count(*) from rolecall.tasks").fetchone() == (0,)


@pytest.mark.parametrize("kind", OF_PSYCOPG2)
async def test_psycopg2_can_enqueue_tasks_without_redacted_values(
    kind: type[Door], database: str, app: App, connection: Sql
) -> None:
    app.task(greet)

    async with visiting(kind, database, app, database) as visitor:
        await visitor("enqueue", "greet", {"name": "Ada"})
        await visitor.door.commit()

    assert connection.execute("select count(*) from rolecall.tasks").fetchone() == (1,)


def test_redacted_value_is_not_logged_where_events_are_collected(
    database: str, app: App, connection: Sql, secret: str
) -> None:
    events = Events()
    app.include(App("noted", sinks=[events]))
    with Client(database, app=app) as client:
        client.enqueue("pay", {"card": secret}, **ONCE)
        with pytest.raises(RolecallError):
            client.enqueue("pay", {"card": secret}, **ONCE)

    assert secret not in log_of(connection)
    assert events.types[0] == EventType.JOB_CREATED


async def test_redacted_value_is_not_logged_where_an_async_client_collects_events(
    database: str, app: App, connection: Sql, secret: str
) -> None:
    events = Events()
    app.include(App("noted", sinks=[events]))
    async with AsyncClient(database, app=app) as client:
        await client.enqueue("pay", {"card": secret}, **ONCE)
        with pytest.raises(RolecallError):
            await client.enqueue("pay", {"card": secret}, **ONCE)

    assert secret not in log_of(connection)
    assert events.types[0] == EventType.JOB_CREATED


def greet(name: str) -> None:
    """Greets somebody."""


def log_of(connection: Sql) -> str:
    """Return the server's log so far."""
    [(log,)] = connection.execute("select pg_read_file(pg_current_logfile())")
    return str(log)
