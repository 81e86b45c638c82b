"""How an app's routes reach its own tables: through connections of the server's pool."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import psycopg
from fastapi import Depends, Request
from psycopg_pool import AsyncConnectionPool

from rolecall.db.run import translated
from rolecall.web.state import state_of

__all__ = ["Connections", "Connects"]


@dataclass(frozen=True, slots=True)
class Connections:
    """Lends connections: `async with connects() as connection: ...`, each for as short as can be.

    They are in autocommit. What goes wrong with the database inside the block leaves it as our own error.
    """

    pool: AsyncConnectionPool[Any]

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        """Lend one."""
        with translated():
            async with self.pool.connection() as connection:
                yield connection


def _connections(request: Request) -> Connections:
    return Connections(state_of(request).pool)


Connects = Annotated[Connections, Depends(_connections)]
