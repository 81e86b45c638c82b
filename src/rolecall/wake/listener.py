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
from rolecall.wake.backoff import Backoff

WAKE_CHANNEL = "rolecall_wake"
CANCEL_CHANNEL = "rolecall_cancel"
HANDLERS_CHANNEL = "rolecall_handlers"
COMMAND_CHANNEL = "rolecall_command"
PAUSE_CHANNEL = "rolecall_pause"
PROBE_CHANNEL = "rolecall_probe"

Connection = AsyncConnection[tuple[Any, ...]]
log = logging.getLogger("rolecall.wake")


class Deaf(RolecallError):
    """The connection stands but hears nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerOptions:
    """Seconds: between self-tests, for an answer to one, for the first probe to come back, between
    attempts.
    """

    test_every: float = 10.0
    answer_within: float = 5.0
    probe_within: float = 2.0
    first_retry: float = 0.1
    longest_retry: float = 30.0


def send_probe(token: str) -> Statement[None]:
    """Notify whoever is just proving its listener; only the sender of this token cares."""
    return Statement(query=f"select pg_notify('{PROBE_CHANNEL}', %s)", params=(token,), read=lambda _rows: None)


class Listener:
    """Hears `hears` (channel -> what to do with a payload) until its `run()` is cancelled.

    `probe` sends a token from another connection: behind a transaction pooler LISTEN succeeds and nothing
    ever arrives, and only a round trip shows it. `on_return` is called after every LISTEN that was proved,
    because what was sent before it is lost. Nothing that happens here is fatal: while `alive` is false,
    poll.
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
        """Listen for ever, reconnecting with growing delays."""
        while True:
            try:
                await self._listen_once()
            except (psycopg.Error, OSError, TimeoutError, RolecallError) as error:
                self._went_deaf(error)
            finally:
                self._alive = False
            await asyncio.sleep(self._backoff.next())

    async def _listen_once(self) -> None:
        connection = await self._connect()
        try:
            await self._prove(connection)
            self._hears_again()
            await self._hear(connection)
        finally:
            await connection.close()

    async def _prove(self, connection: Connection) -> None:
        token = secrets.token_hex(8)
        await self._listen(connection)
        await self._probe(token)
        proved = await self._wait_for(token, connection)
        # A pooler may hand this server connection to others: then leave no LISTEN behind.
        await self._ask(connection, f"unlisten {PROBE_CHANNEL}" if proved else "unlisten *")
        if not proved:
            raise Deaf("LISTEN works but nothing arrives (a transaction pooler?)")

    async def _wait_for(self, token: str, connection: Connection) -> bool:
        # Left by a break, the generator would keep the connection locked until somebody collects it.
        async with aclosing(connection.notifies(timeout=self._options.probe_within)) as notifies:
            async for notify in notifies:
                if notify.channel == PROBE_CHANNEL and notify.payload == token:
                    return True
                self._dispatch(notify)
        return False

    async def _listen(self, connection: Connection) -> None:
        try:
            await self._ask(connection, f"listen {PROBE_CHANNEL}")
        except psycopg.OperationalError:
            raise
        except psycopg.Error:
            # Old entries of the queue can make LISTEN fail; asking for the queue's usage moves its tail.
            await self._ask(connection, "select pg_notification_queue_usage()")
        for channel in (PROBE_CHANNEL, *self._hears):
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
