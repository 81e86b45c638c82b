"""Talking to the server: its address, whether it really answers, and databases made on first use."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import quote

import psycopg
from psycopg import sql

from rolecall.db.embedded.cluster import SUPERUSER
from rolecall.db.embedded.errors import NotAnswering

HOST = "127.0.0.1"
MAINTENANCE_DATABASE = "postgres"
CONNECT_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server listens and what opens it."""

    port: int
    password: str = field(repr=False)

    def dsn(self, database: str) -> str:
        """The connection string of a database, password included."""
        user, password = quote(SUPERUSER, safe=""), quote(self.password, safe="")
        # said aloud, as PGSSLMODE and some drivers demand what a server on loopback need not have
        return f"postgresql://{user}:{password}@{HOST}:{self.port}/{quote(database, safe='')}?sslmode=disable"


def refusal(address: Address) -> str | None:
    """Why the server does not let us in, None when it does; only a real connection counts."""
    try:
        _connect(address).close()
    except psycopg.OperationalError as error:
        return str(error).strip()
    return None


def create_database(address: Address, name: str) -> None:
    """Make the database unless it is there; of several who try at once all succeed.

    Raises `NotAnswering`.
    """
    try:
        with _connect(address) as connection:
            known = connection.execute("select 1 from pg_database where datname = %s", [name]).fetchone()
            if known is None:
                _create(connection, name)
    except psycopg.OperationalError as error:
        raise NotAnswering(str(error).strip()) from error


def _create(connection: psycopg.Connection[tuple[object, ...]], name: str) -> None:
    try:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
    except (psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation):
        return


def _connect(address: Address) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(
        address.dsn(MAINTENANCE_DATABASE),
        autocommit=True,
        connect_timeout=CONNECT_SECONDS,
        application_name="rolecall:embedded",
    )
