"""One suite for both clients: every test here runs with the sync and the async one."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Literal

import psycopg
import pytest

from rolecall import App, AsyncClient, Client

Kind = Literal["sync", "async"]


class Face:
    """Either client with an async interface; the sync one is called in a thread."""

    def __init__(self, kind: Kind, database: Any, app: App | None = None) -> None:
        self.kind = kind
        self.database = database
        self.client: Any = Client(database, app=app) if kind == "sync" else AsyncClient(database, app=app)

    async def __call__(self, verb: str, *args: Any, **kwargs: Any) -> Any:
        method = getattr(self.client, verb)
        if inspect.iscoroutinefunction(method):
            return await method(*args, **kwargs)
        return await asyncio.to_thread(method, *args, **kwargs)

    @asynccontextmanager
    async def transaction(self, *, commit: bool = True) -> AsyncIterator[Any]:
        """Run the block in a transaction of the caller's own connection."""
        if self.kind == "async":
            async with await psycopg.AsyncConnection.connect(self.database) as aconnection:
                yield aconnection
                await (aconnection.commit() if commit else aconnection.rollback())
        else:
            with psycopg.connect(self.database) as connection:
                yield connection
                (connection.commit if commit else connection.rollback)()


@pytest.fixture(params=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param  # type: ignore[no-any-return]  # one of the params above


@pytest.fixture
def app() -> App:
    app = App("shop")

    @app.task(role="sums")
    def add(a: int, b: int = 0) -> int:
        return a + b

    return app


@pytest.fixture
async def face(kind: Kind, database: str, app: App) -> AsyncIterator[Face]:
    face = Face(kind, database, app)
    yield face
    await face("close")


@contextmanager
def counted(connection: psycopg.Connection[Any]) -> Iterator[list[int]]:
    """Count the tasks stored in the block; the count is available after the block."""
    grown = [-_tasks(connection)]
    yield grown
    grown[0] += _tasks(connection)


def _tasks(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute("select count(*) from rolecall.all_tasks").fetchone()
    return int(row[0]) if row else 0
