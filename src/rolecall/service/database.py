"""What the services stand on: something that runs a statement, and the plainest such thing."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import psycopg

from rolecall.db.run import run_async
from rolecall.sql.statement import Statement

T = TypeVar("T")


class Database(Protocol):
    """Runs a statement and returns its answer; raises model errors."""

    async def run(self, statement: Statement[T]) -> T: ...


class OneConnection:
    """A database behind a single connection, one statement at a time; each commits for itself."""

    def __init__(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self._connection = connection

    async def run(self, statement: Statement[T]) -> T:
        return await run_async(self._connection, statement)
