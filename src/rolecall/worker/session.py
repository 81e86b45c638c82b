"""Database connections that reconnect: a statement is sent again until the database answers or the session gives up.

`ForkGuard` protects the worker from processes that its handlers fork. A forked child has copies of everything: if it
returned into the worker's code, it would finish the worker's tasks a second time, over shared sockets.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from socket import socketpair
from time import monotonic
from typing import Protocol, TypeVar
from weakref import WeakSet, ref

import psycopg
from psycopg_pool import AsyncConnectionPool

from rolecall.db.connect import connect_async
from rolecall.db.pooler import AsyncConnection as Connection
from rolecall.db.pooler import Pooler
from rolecall.db.pools import async_pool
from rolecall.db.run import run_all_async, run_async
from rolecall.model.errors import DatabaseReadOnly, DatabaseUnavailable
from rolecall.model.sqlstates import is_about_statement
from rolecall.sql.events import EventCollector
from rolecall.sql.statement import Statement, single
from rolecall.transport.waker import Backoff, comes_within

Connect = Callable[[], Awaitable[Connection]]
T = TypeVar("T")
NO_ANSWER = "the database does not answer"
READ_ONLY_SERVER = "the database is read-only"
FIRST_RETRY = 0.05
LONGEST_RETRY = 5.0
RELAX: Statement[str] = Statement(query="select set_config('synchronous_commit', 'off', false)", read=single)
FIRST_PAUSE = 30.0
LONGEST_PAUSE = 600.0
GROWTH = 2.0
CAME_BACK = b"A handler forked, and the child returned into the worker: it exits here. End it with os._exit().\n"
EXIT_CODE = 70

log = logging.getLogger("rolecall.worker")


class DatabaseSession:
    """One connection that executes one statement at a time, and sends it again until the database executes it.

    A statement is sent again, on a new connection and with a backoff of at most 5 s, if it has no answer within
    `deadline` seconds or meets a server condition such as a read-only database. Statements must therefore be safe to
    repeat; the fence makes a worker's writes so. Errors of the statement itself are raised at once. `on_silence` is
    called with each error that leads to another try.
    """

    def __init__(
        self,
        name: str,
        connect: Connect,
        *,
        deadline: float,
        on_silence: Callable[[DatabaseUnavailable], None] = lambda _error: None,
    ) -> None:
        self._name = name
        self._connect = connect
        self._deadline = deadline
        self._on_silence = on_silence
        self._connection: Connection | None = None
        self._turn = asyncio.Lock()
        self._backoff = Backoff(FIRST_RETRY, LONGEST_RETRY)
        self._given_up = asyncio.Event()
        self._log_throttle = LogThrottle()
        self._problem: str | None = None
        self.sent_at = 0.0  # when the latest statement was last sent, in monotonic seconds

    @property
    def problem(self) -> str | None:
        """The problem because of which the session is waiting; None while the database answers."""
        return self._problem

    @property
    def has_given_up(self) -> bool:
        return self._given_up.is_set()

    async def run(
        self, statement: Statement[T], collector: EventCollector | None = None, *, is_divisible: bool = False
    ) -> T:
        """Return the answer to a statement, however long the database is away.

        Raises DatabaseUnavailable after `give_up`. If `is_divisible`, also raises it when the server cannot execute
        this statement but might execute a smaller one, such as after a statement timeout.
        """
        question = partial(run_all_async, statements=[statement], collector=collector)
        [answer] = await self.run_all(question, is_divisible=is_divisible)
        return answer

    async def run_all(self, question: Callable[[Connection], Awaitable[T]], *, is_divisible: bool = False) -> T:
        """Do the same for a function that executes several statements."""
        async with self._turn:
            while True:
                try:
                    return await self._attempt(question)
                except DatabaseUnavailable as error:
                    await self._drop()
                    self._on_silence(error)
                    if self._given_up.is_set() or (is_divisible and is_about_statement(error.sqlstate)):
                        raise
                    self._log_problem(error)
                await comes_within(self._given_up, self._backoff.next())

    def give_up(self) -> None:
        self._given_up.set()

    async def close(self) -> None:
        self.give_up()
        await self._drop()

    async def _attempt(self, question: Callable[[Connection], Awaitable[T]]) -> T:
        try:
            async with asyncio.timeout(self._deadline):
                if self._connection is None:
                    self._connection = await self._connect()
                self.sent_at = monotonic()
                answer = await question(self._connection)
        except TimeoutError:
            problem = f"no answer within {self._deadline:g} s"
            raise DatabaseUnavailable(problem) from None
        except OSError as error:
            raise DatabaseUnavailable(str(error)) from error
        if self._problem is not None:
            self._note_recovery()
        return answer

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    def _log_problem(self, error: DatabaseUnavailable) -> None:
        problem = READ_ONLY_SERVER if isinstance(error, DatabaseReadOnly) else NO_ANSWER
        if problem != self._problem:
            # Sessions are closed before the database becomes read-only, so the second reason must be logged as well.
            self._problem, self._log_throttle = problem, LogThrottle()
        # Repeated, because a silent log looks like that of a healthy worker.
        level = logging.WARNING if self._log_throttle.due(monotonic()) else logging.DEBUG
        if problem == READ_ONLY_SERVER:
            log.log(level, "Connection %r waits until the database accepts writes: %s", self._name, error)
        else:
            log.log(level, "The database does not answer on connection %r, trying again: %s", self._name, error)

    def _note_recovery(self) -> None:
        log.info("The database answers again on connection %r", self._name)
        self._problem = None
        self._log_throttle = LogThrottle()
        self._backoff.reset()


class DatabaseSessions:
    """Opens all connections of one process to one database. Behind a pooler, nothing is prepared or set.

    `pooled`: whether there is a pooler; None detects it. The name of every session ends with `mark`, if it is given.
    """

    def __init__(
        self,
        dsn: str,
        *,
        deadline: float,
        pooled: bool | None = None,
        fork_guard: ForkGuard | None = None,
        mark: str | None = None,
        on_silence: Callable[[DatabaseUnavailable], None] = lambda _error: None,
    ) -> None:
        self._fork_guard = fork_guard or ForkGuard()
        self._dsn = dsn
        self._mark = mark
        self._on_silence = on_silence
        self._deadline = deadline
        self._pooler = Pooler(configured=pooled)

    def open(self, name: str) -> DatabaseSession:
        """Return a session with durable commits."""
        return self._session(name, lambda: self.connect(name))

    def open_relaxed(self, name: str) -> DatabaseSession:
        """Return a session whose commits may be lost if the server crashes (not behind a pooler).

        For claims, which are simply repeated.
        """
        return self._session(name, lambda: self._connect_relaxed(name))

    def _session(self, name: str, connect: Connect) -> DatabaseSession:
        return DatabaseSession(name, connect, deadline=self._deadline, on_silence=self._on_silence)

    async def connect(self, name: str) -> Connection:
        self._fork_guard.require()
        connection = await connect_async(self._dsn, self._session_name(name), self._pooler)
        self._fork_guard.add(connection)
        return connection

    @property
    def session_suffix(self) -> str | None:
        """The mark in the names of the sessions; None behind a pooler, which names its own sessions."""
        return self._mark if self._pooler.direct else None

    def pool(self, name: str, *, most: int) -> AsyncConnectionPool[Connection]:
        """Return a pool for handlers' own transactions. It is opened by its first use."""
        return async_pool(self._dsn, self._session_name(name), self._pooler, max_size=most)

    def _session_name(self, name: str) -> str:
        return f"worker:{name}:{self._mark}" if self._mark else f"worker:{name}"

    async def _connect_relaxed(self, name: str) -> Connection:
        connection = await self.connect(name)
        try:
            if not self._pooler.is_present:
                await run_async(connection, RELAX)
        except BaseException:
            await connection.close()
            raise
        return connection


class LogThrottle:
    """Decides how often a lasting problem is logged: at once, then at growing intervals."""

    __slots__ = ("_due_at", "_pause")

    def __init__(self) -> None:
        self._due_at: float | None = None
        self._pause = FIRST_PAUSE

    def due(self, now: float) -> bool:
        if self._due_at is not None and now < self._due_at:
            return False
        self._due_at = now + self._pause
        self._pause = min(LONGEST_PAUSE, self._pause * GROWTH)
        return True


class ForkGuard:
    """Protects a worker's connections in processes that its handlers fork.

    In a forked child, the connections are redirected to a closed socket: the child cannot read the worker's answers,
    and closing its copies does not end the server sessions. A child that does not use them is not affected.
    """

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._connections: WeakSet[HasDescriptor] = WeakSet()
        os.register_at_fork(after_in_child=partial(_cut_off, ref(self)))

    def add(self, connection: HasDescriptor) -> None:
        self._connections.add(connection)

    def require(self) -> None:
        """Exit at once, without any cleanup, if this is a forked child."""
        if os.getpid() != self._pid:
            os.write(2, CAME_BACK)
            os._exit(EXIT_CODE)

    def cut_off(self) -> None:
        """Redirect all connections in this process to a closed socket; the parent process is not affected."""
        # Not /dev/null, for which an event loop cannot wait: libuv aborts.
        nowhere, gone = socketpair()
        gone.close()
        with nowhere:
            for connection in self._connections:
                with suppress(psycopg.Error):  # already closed
                    os.dup2(nowhere.fileno(), connection.fileno(), inheritable=False)


class HasDescriptor(Protocol):
    """An object with a file descriptor, such as a connection."""

    def fileno(self) -> int: ...


def _cut_off(fork_guard: ref[ForkGuard]) -> None:
    # Fork hooks cannot be unregistered: the weak reference lets a stopped worker be freed.
    alive = fork_guard()
    if alive is not None:
        alive.cut_off()
