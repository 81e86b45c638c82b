"""The connection that hears notifications: it proves itself, tests itself, and comes back by itself."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import AsyncConnection, Notify

from rolecall.model.errors import RolecallError
from rolecall.sql.statement import Statement
from rolecall.wake.waker import Backoff

WAKE_CHANNEL = "rolecall_wake"
CANCEL_CHANNEL = "rolecall_cancel"
HANDLERS_CHANNEL = "rolecall_handlers"
COMMAND_CHANNEL = "rolecall_command"
PAUSE_CHANNEL = "rolecall_pause"

Connection = AsyncConnection[tuple[Any, ...]]
log = logging.getLogger("rolecall.wake")


class Deaf(RolecallError):
    """The connection stands but hears nothing."""


class BehindPooler(Deaf):
    """The connection hears nothing, and never will."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerOptions:
    """Seconds: between self-tests, for an answer to one, for the first probe to come back (through a pooler,
    where nothing is tried a second time, it is given longer), between attempts.
    """

    test_every: float = 10.0
    answer_within: float = 5.0
    probe_within: float = 2.0
    probe_within_pooled: float = 10.0
    first_retry: float = 0.1
    longest_retry: float = 30.0


def probe_channel() -> str:
    """Name a channel on which nobody else listens: behind a pooler, its LISTEN may outlive the listener."""
    return f"rolecall_probe_{secrets.token_hex(8)}"


def send_probe(channel: str) -> Statement[None]:
    """Notify whoever is just proving its listener on this channel."""
    return Statement(query="select pg_notify(%s, '')", params=(channel,), read=lambda _rows: None)


class Listener:
    """Hears `hears` (channel -> what to do with a payload) until its `run()` is cancelled.

    `probe` notifies a channel from another connection: behind a transaction pooler LISTEN succeeds and
    nothing ever arrives, and only a round trip shows it. `on_return` is called after every LISTEN that was
    proved, because what was sent before it is lost. Nothing that happens here is fatal: while `alive` is
    false, poll. A pooler that keeps notifications to itself will do so for ever, so there it is tried once.
    """

    def __init__(
        self,
        *,
        connect: Callable[[], Awaitable[Connection]],
        probe: Callable[[str], Awaitable[None]],
        hears: Mapping[str, Callable[[str], None]],
        on_return: Callable[[], None],
        options: ListenerOptions,
    ) -> None:
        self._connect = connect
        self._probe = probe
        self._hears = hears
        self._on_return = on_return
        self._options = options
        self._backoff = Backoff(options.first_retry, options.longest_retry)
        self._alive = False
        self._warned = False

    @property
    def alive(self) -> bool:
        """True while notifications are known to arrive."""
        return self._alive

    async def run(self) -> None:
        """Listen for ever, reconnecting with growing delays; return only behind a pooler."""
        while True:
            try:
                await self._listen_once()
            except BehindPooler as error:
                self._went_deaf(error)
                return
            except (psycopg.Error, OSError, TimeoutError, RolecallError) as error:
                self._went_deaf(error)
            finally:
                self._alive = False
            await asyncio.sleep(self._backoff.next())

    async def _listen_once(self) -> None:
        connection = await self._connect()
        try:
            probe = probe_channel()
            await self._prove(connection, probe)
            for channel in self._hears:
                await self._ask(connection, f"listen {channel}")
            await self._ask(connection, f"unlisten {probe}")
            self._hears_again()
            await self._hear(connection)
        finally:
            await connection.close()

    async def _prove(self, connection: Connection, probe: str) -> None:
        ((served_by,),) = await self._ask(connection, "select pg_backend_pid()")
        pooled = served_by != connection.info.backend_pid
        within = self._options.probe_within_pooled if pooled else self._options.probe_within
        await self._listen_first(connection, probe)
        await self._probe(probe)
        if await self._comes(connection, probe, within):
            return
        await self._ask(connection, f"unlisten {probe}")
        if pooled:
            raise BehindPooler("this connection leads through a pooler; ROLECALL_LISTEN_URL may name a direct one")
        raise Deaf("LISTEN works but nothing arrives")

    async def _comes(self, connection: Connection, channel: str, within: float) -> bool:
        # Left by a break, the generator would keep the connection locked until somebody collects it.
        async with aclosing(connection.notifies(timeout=within)) as notifies:
            async for notify in notifies:
                if notify.channel == channel:
                    return True
        return False

    async def _listen_first(self, connection: Connection, channel: str) -> None:
        try:
            await self._ask(connection, f"listen {channel}")
        except psycopg.OperationalError:
            raise
        except psycopg.Error:
            # Old entries of the queue can make LISTEN fail; asking for the queue's usage moves its tail.
            await self._ask(connection, "select pg_notification_queue_usage()")
            await self._ask(connection, f"listen {channel}")

    async def _hear(self, connection: Connection) -> None:
        while True:
            async for notify in connection.notifies(timeout=self._options.test_every):
                self._dispatch(notify)
            heard = await self._ask(connection, "select pg_listening_channels()")
            if not {channel for (channel,) in heard} >= set(self._hears):
                raise Deaf("the server no longer knows what this session listens to")

    async def _ask(self, connection: Connection, query: str) -> list[tuple[Any, ...]]:
        async with asyncio.timeout(self._options.answer_within):
            cursor = await connection.execute(query.encode())
            return await cursor.fetchall() if cursor.description else []

    def _dispatch(self, notify: Notify) -> None:
        hear = self._hears.get(notify.channel)
        if hear is not None:
            hear(notify.payload)

    def _hears_again(self) -> None:
        if self._warned:
            log.info("Notifications arrive again")
        self._alive = True
        self._warned = False
        self._backoff.reset()
        self._on_return()

    def _went_deaf(self, error: Exception) -> None:
        level = logging.DEBUG if self._warned else logging.WARNING
        log.log(level, "No notifications, polling instead: %s", error)
        self._warned = True
