"""A fresh, migrated database for each test that asks for one."""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator, Iterator
from importlib import resources

import psycopg
import pytest
import pytest_asyncio
from psycopg import sql
from psycopg.conninfo import make_conninfo

SERVER_VARIABLE = "ROLECALL_TEST_SERVER"


@pytest.fixture(scope="session")
def server() -> str:
    """The DSN of a server on which databases may be made and dropped."""
    dsn = os.environ.get(SERVER_VARIABLE)
    if not dsn:
        pytest.skip(f"{SERVER_VARIABLE} names no Postgres server")
    return dsn


@pytest.fixture(scope="session")
def template(server: str) -> Iterator[str]:
    """The name of a migrated database to clone."""
    name = _new_name("template")
    _administer(server, sql.SQL("create database {}").format(sql.Identifier(name)))
    with psycopg.connect(make_conninfo(server, dbname=name)) as connection:
        for migration in _migrations():
            connection.execute(migration)
    yield name
    _drop(server, name)


@pytest.fixture
def database(server: str, template: str) -> Iterator[str]:
    """The DSN of a database of its own, with the schema and nothing in it."""
    name = _new_name("test")
    cloning = sql.SQL("create database {} template {}")
    _administer(server, cloning.format(sql.Identifier(name), sql.Identifier(template)))
    yield make_conninfo(server, dbname=name)
    _drop(server, name)


@pytest_asyncio.fixture
async def connection(database: str) -> AsyncIterator[psycopg.AsyncConnection]:
    """An open connection that commits each statement by itself, unless a test opens a transaction."""
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as opened:
        yield opened


def _migrations() -> list[bytes]:
    folder = resources.files("storecrawl.migrations")
    files = sorted(
        (file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name
    )
    return [file.read_bytes() for file in files]


def _new_name(kind: str) -> str:
    return f"storecrawl_{kind}_{secrets.token_hex(6)}"


def _drop(server: str, name: str) -> None:
    _administer(server, sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


def _administer(server: str, statement: sql.Composed) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(statement)
