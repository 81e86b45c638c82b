"""Why no connection can be had: learned at once by asking the server directly, as a pool only waits and gives up."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from psycopg_pool import PoolTimeout

from rolecall.db.connect import connect, connect_async
from rolecall.model.errors import DatabaseUnavailable

__all__ = ["explained", "explained_async", "require_answer", "require_answer_async"]

ALL_IN_USE = "every connection of the pool is in use"


def require_answer(dsn: str) -> None:
    """Raise DatabaseUnavailable, with the server's reason, unless a connection can be had now."""
    connect(dsn, "client").close()


async def require_answer_async(dsn: str) -> None:
    """Raise DatabaseUnavailable, with the server's reason, unless a connection can be had now."""
    await (await connect_async(dsn, "client")).close()


@contextmanager
def explained(dsn: str | None) -> Iterator[None]:
    """Let a PoolTimeout of our own pool become DatabaseUnavailable that tells why; a given pool's has no DSN."""
    try:
        yield
    except PoolTimeout as late:
        if dsn is None:
            raise
        try:
            require_answer(dsn)
        except DatabaseUnavailable as error:
            raise _told(late, error) from error
        raise _told(late, ALL_IN_USE) from late


@asynccontextmanager
async def explained_async(dsn: str | None) -> AsyncIterator[None]:
    """Let a PoolTimeout of our own pool become DatabaseUnavailable that tells why; a given pool's has no DSN."""
    try:
        yield
    except PoolTimeout as late:
        if dsn is None:
            raise
        try:
            await require_answer_async(dsn)
        except DatabaseUnavailable as error:
            raise _told(late, error) from error
        raise _told(late, ALL_IN_USE) from late


def _told(late: PoolTimeout, reason: object) -> DatabaseUnavailable:
    return DatabaseUnavailable(f"{late}: {reason}")
