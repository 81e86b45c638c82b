"""Connections and sessions of other libraries, opened and closed as their users do."""

from __future__ import annotations

import asyncio
import inspect
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from typing import Any

import asyncpg
import django.conf
import psycopg
import psycopg2
import sqlalchemy
import sqlmodel
import sqlmodel.ext.asyncio.session as sqlmodel_async
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy.ext.asyncio import AsyncSession, async_scoped_session, async_sessionmaker, create_async_engine
from sqlalchemy.orm import Session, scoped_session, sessionmaker

from rolecall import App, AsyncClient, Client

django.conf.settings.configure(DATABASES={}, USE_TZ=True)
django.setup()

from django.db import connections, transaction  # noqa: E402 - only where settings stand


class Door(ABC):
    """A connection or session; `handed` is the object that is passed as `connection=`.

    Sync libraries are called in one thread of their own, without a loop, as Django requires.
    """

    client_kind: type[Client | AsyncClient]

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.handed: Any = None

    @abstractmethod
    async def open(self) -> None: ...

    @abstractmethod
    async def execute(self, sql: str) -> None:
        """Execute a statement of the caller's own in the same transaction."""

    @abstractmethod
    async def commit(self) -> None: ...

    @abstractmethod
    async def rollback(self) -> None: ...

    @abstractmethod
    async def close(self) -> None: ...

    @abstractmethod
    async def undone_savepoint(self, calls: Callable[[], Any]) -> None:
        """Make a call within a savepoint that is rolled back."""

    @abstractmethod
    async def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a method of a client, in the thread of this library's calls."""


class SyncDoor(Door):
    client_kind = Client

    def __init__(self, dsn: str) -> None:
        super().__init__(dsn)
        self._thread = ThreadPoolExecutor(1)
        self.stack = ExitStack()

    async def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: function(*args, **kwargs))

    async def open(self) -> None:
        await self.call(self.begin)

    async def execute(self, sql: str) -> None:
        await self.call(self.write, sql)

    async def commit(self) -> None:
        await self.call(self.handed.commit)

    async def rollback(self) -> None:
        await self.call(self.handed.rollback)

    async def close(self) -> None:
        await self.call(self.stack.close)
        self._thread.shutdown()

    async def undone_savepoint(self, calls: Callable[[], Any]) -> None:
        await self.call(self.undo, calls)

    def undo(self, calls: Callable[[], Any]) -> None:
        self.write("savepoint before_calls")
        calls()
        self.write("rollback to savepoint before_calls")

    @abstractmethod
    def begin(self) -> None: ...

    @abstractmethod
    def write(self, sql: str) -> None: ...


class AsyncDoor(Door):
    client_kind = AsyncClient

    def __init__(self, dsn: str) -> None:
        super().__init__(dsn)
        self.stack = AsyncExitStack()

    async def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        answer = function(*args, **kwargs)
        return await answer if inspect.isawaitable(answer) else answer

    async def commit(self) -> None:
        await self.handed.commit()

    async def rollback(self) -> None:
        await self.handed.rollback()

    async def close(self) -> None:
        await self.stack.aclose()

    async def undone_savepoint(self, calls: Callable[[], Any]) -> None:
        await self.execute("savepoint before_calls")
        await calls()
        await self.execute("rollback to savepoint before_calls")


class Psycopg(SyncDoor):
    def begin(self) -> None:
        self.handed = psycopg.connect(self.dsn)
        self.stack.callback(self.handed.close)

    def write(self, sql: str) -> None:
        self.handed.execute(sql)


class Psycopg2(SyncDoor):
    def begin(self) -> None:
        self.handed = psycopg2.connect(self.dsn)
        self.stack.callback(self.handed.close)

    def write(self, sql: str) -> None:
        with self.handed.cursor() as cursor:
            cursor.execute(sql)


class SqlalchemyConnection(SyncDoor):
    driver = "psycopg"

    def begin(self) -> None:
        self.handed = self.stack.enter_context(self.engine().connect())

    def engine(self) -> sqlalchemy.Engine:
        engine = sqlalchemy.create_engine(url_of(self.dsn, self.driver))
        self.stack.callback(engine.dispose)
        return engine

    def write(self, sql: str) -> None:
        self.handed.execute(sqlalchemy.text(sql))


class SqlalchemyPsycopg2(SqlalchemyConnection):
    driver = "psycopg2"


class SqlalchemySession(SqlalchemyConnection):
    def begin(self) -> None:
        self.handed = self.stack.enter_context(Session(self.engine()))

    def undo(self, calls: Callable[[], Any]) -> None:
        with undone(self.handed.begin_nested()):
            calls()


class ScopedSession(SqlalchemyConnection):
    driver = "psycopg2"

    def begin(self) -> None:
        self.handed = scoped_session(sessionmaker(self.engine()))
        self.stack.callback(self.handed.remove)


class Sqlmodel(SqlalchemyConnection):
    def begin(self) -> None:
        self.handed = self.stack.enter_context(sqlmodel.Session(self.engine()))


class Django(SyncDoor):
    """Django's connection, in `atomic()` blocks, as in views."""

    alias = "default"

    def begin(self) -> None:
        connections.settings[self.alias] = django_settings(self.dsn)
        self.connection = connections[self.alias]
        self.handed = self.hand()
        self.stack.callback(self.connection.close)
        self.block = transaction.atomic(self.alias)
        self.block.__enter__()

    def hand(self) -> Any:
        return self.connection

    def write(self, sql: str) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute(sql)

    def undo(self, calls: Callable[[], Any]) -> None:
        with undone(transaction.atomic(self.alias)):
            calls()

    async def commit(self) -> None:
        await self.call(self.block.__exit__, None, None, None)

    async def rollback(self) -> None:
        await self.call(self.block.__exit__, RuntimeError, RuntimeError(), None)


class DjangoProxy(Django):
    def hand(self) -> Any:
        from django.db import connection  # noqa: PLC0415 - as a view has it

        return connection


class DjangoAlias(Django):
    alias = "tasks"

    def hand(self) -> Any:
        return "tasks"


class PsycopgAsync(AsyncDoor):
    async def open(self) -> None:
        self.handed = await psycopg.AsyncConnection.connect(self.dsn)
        self.stack.push_async_callback(self.handed.close)

    async def execute(self, sql: str) -> None:
        await self.handed.execute(sql)


class Asyncpg(AsyncDoor):
    async def open(self) -> None:
        self.handed = await self.connect()
        self.block = self.handed.transaction()
        await self.block.start()

    async def connect(self) -> Any:
        connection = await asyncpg.connect(uri_of(self.dsn))
        self.stack.push_async_callback(connection.close)
        return connection

    async def execute(self, sql: str) -> None:
        await self.handed.execute(sql)

    async def commit(self) -> None:
        await self.block.commit()

    async def rollback(self) -> None:
        await self.block.rollback()


class AsyncpgPool(Asyncpg):
    async def connect(self) -> Any:
        pool = await self.stack.enter_async_context(asyncpg.create_pool(uri_of(self.dsn), min_size=1, max_size=1))
        return await self.stack.enter_async_context(pool.acquire())


class SqlalchemyAsyncConnection(AsyncDoor):
    driver = "asyncpg"

    async def open(self) -> None:
        self.handed = await self.stack.enter_async_context(self.engine().connect())

    def engine(self) -> Any:
        engine = create_async_engine(url_of(self.dsn, self.driver))
        self.stack.push_async_callback(engine.dispose)
        return engine

    async def execute(self, sql: str) -> None:
        await self.handed.execute(sqlalchemy.text(sql))


class SqlalchemyAsyncPsycopg(SqlalchemyAsyncConnection):
    driver = "psycopg"


class SqlalchemyAsyncSession(SqlalchemyAsyncConnection):
    async def open(self) -> None:
        self.handed = await self.stack.enter_async_context(AsyncSession(self.engine()))

    async def undone_savepoint(self, calls: Callable[[], Any]) -> None:
        nested = await self.handed.begin_nested()
        await calls()
        await nested.rollback()


class AsyncScopedSession(SqlalchemyAsyncConnection):
    driver = "psycopg"

    async def open(self) -> None:
        self.handed = async_scoped_session(async_sessionmaker(self.engine()), asyncio.current_task)
        self.stack.push_async_callback(self.handed.remove)


class SqlmodelAsync(SqlalchemyAsyncConnection):
    async def open(self) -> None:
        self.handed = await self.stack.enter_async_context(sqlmodel_async.AsyncSession(self.engine()))

    async def execute(self, sql: str) -> None:
        await (await self.handed.connection()).execute(sqlalchemy.text(sql))


DOORS: list[type[Door]] = [
    Psycopg,
    Psycopg2,
    SqlalchemyConnection,
    SqlalchemyPsycopg2,
    SqlalchemySession,
    ScopedSession,
    Sqlmodel,
    Django,
    DjangoProxy,
    DjangoAlias,
    PsycopgAsync,
    Asyncpg,
    AsyncpgPool,
    SqlalchemyAsyncConnection,
    SqlalchemyAsyncPsycopg,
    SqlalchemyAsyncSession,
    AsyncScopedSession,
    SqlmodelAsync,
]


class Visitor:
    """A client, with the connection that its calls share."""

    def __init__(self, door: Door, client: Any) -> None:
        self.door = door
        self.client = client

    async def __call__(self, verb: str, *args: Any, **kwargs: Any) -> Any:
        """Call the client, in the shared transaction."""
        return await self.door.call(getattr(self.client, verb), *args, connection=self.door.handed, **kwargs)

    async def enqueue_undone(self, task: str, payload: dict[str, object]) -> None:
        """Enqueue within a savepoint that is rolled back."""
        await self.door.undone_savepoint(lambda: self.client.enqueue(task, payload, connection=self.door.handed))


@asynccontextmanager
async def visiting(kind: type[Door], dsn: str, app: App, database: str | None) -> AsyncIterator[Visitor]:
    """Open a connection, and a client of a database, during the block. Without a database, the environment names it."""
    door = kind(dsn)
    client = door.client_kind(database, app=app)
    await door.open()
    try:
        yield Visitor(door, client)
    finally:
        await door.close()
        closed = client.close()
        if closed is not None:
            await closed


@contextmanager
def undone(block: Any) -> Any:
    """Roll back a savepoint at the end of the block, like an error that is caught outside."""
    try:
        with block:
            yield
            raise ZeroDivisionError
    except ZeroDivisionError:
        pass


def uri_of(dsn: str) -> str:
    """Return the connection string as a URI, which asyncpg accepts."""
    return url_of(dsn, "").replace("postgresql+://", "postgresql://")


def url_of(dsn: str, driver: str) -> str:
    """Return the connection string in SQLAlchemy's format."""
    result: dict[str, Any] = conninfo_to_dict(dsn)
    url = sqlalchemy.URL.create(
        f"postgresql+{driver}",
        result["user"],
        result.get("password"),
        result["host"],
        int(result["port"]),
        result["dbname"],
    )
    return url.render_as_string(hide_password=False)


def django_settings(dsn: str) -> dict[str, Any]:
    """Return the connection string as Django's settings."""
    result = conninfo_to_dict(dsn)
    return {
        **{name: value for name, value in connections.settings["default"].items() if name.isupper()},
        "ENGINE": "django.db.backends.postgresql",
        "NAME": result["dbname"],
        "USER": result["user"],
        "PASSWORD": result.get("password", ""),
        "HOST": result["host"],
        "PORT": result["port"],
    }
