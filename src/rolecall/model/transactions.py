"""Types of connections and sessions whose transaction a call can join, for type checkers."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Protocol


class Transactional(Protocol):
    """A connection or session: psycopg.Connection; psycopg2's; SQLAlchemy's Connection, Session; Django's
    connection.
    """

    def commit(self) -> None: ...

    def rollback(self) -> None: ...


class AsyncTransactional(Protocol):
    """An async connection or session: psycopg.AsyncConnection; SQLAlchemy's AsyncConnection, AsyncSession."""

    def commit(self) -> Coroutine[Any, Any, None]: ...

    def rollback(self) -> Coroutine[Any, Any, None]: ...


class AsyncpgTransactional(Protocol):
    """An asyncpg connection, from a pool or not."""

    def is_in_transaction(self) -> bool: ...


Joinable = Transactional | str
"""A connection or session whose transaction can be joined; a text is the alias of a Django connection."""
AsyncJoinable = AsyncTransactional | AsyncpgTransactional
"""An async connection or session whose transaction can be joined."""
