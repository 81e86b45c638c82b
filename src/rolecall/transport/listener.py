"""Receives notifications through any transport, knows whether they arrive, and reconnects.

Also contains the default transport: LISTEN on a separate Postgres connection, which tests itself.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import AsyncConnection

from rolecall.model.errors import RolecallError
from rolecall.sql.statement import Statement
from rolecall.transport.transport import (
    BACK,
    BEAT_CHANNEL,
    Message,
    NotificationsUnavailable,
    NotificationsUnsupported,
    Reach,
    Transport,
)
from rolecall.transport.waker import Backoff

Connection = AsyncConnection[tuple[Any, ...]]
Send = Callable[[Statement[None]], Awaitable[None]]
log = logging.getLogger("rolecall.transport")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerOptions:
    """In seconds: the delays between reconnects, and how long a relay may be silent before it counts as gone."""

    first_retry: float = 0.1
    longest_retry: float = 30.0
    beat_within: float = 7.0


class Listener:
    """Receives notifications until `run()` is cancelled. `handlers` maps channels to functions of the payload.

    `on_return` is called after each reconnect, because earlier notifications are lost. `on_failure` is called with the
    error when notifications stop. No error is fatal: poll more often while `is_cut_off`.
    """

    def __init__(
        self,
        transport: Transport,
        handlers: Mapping[str, Callable[[str], None]],
        on_return: Callable[[], None],
        *,
        on_failure: Callable[[Exception], None] | None = None,
        options: ListenerOptions | None = None,
    ) -> None:
        self._transport = transport
        self._handlers = handlers
        self._on_return = on_return
        self._on_failure = on_failure
        self._options = options or ListenerOptions()
        self._backoff = Backoff(self._options.first_retry, self._options.longest_retry)
        self._alive = False
        self._has_warned = False
        self._silence: asyncio.TimerHandle | None = None

    @property
    def alive(self) -> bool:
        """True while notifications are known to arrive."""
        return self._alive

    @property
    def is_cut_off(self) -> bool:
        """True while notifications should arrive but do not."""
        return self._transport.reach is not Reach.NOTHING and not self._alive

    async def run(self) -> None:
        """Listen until cancelled, reconnecting with increasing delays. Returns only if notifications are impossible."""
        while self._transport.reach is not Reach.NOTHING:
            try:
                await self._listen_once()
            except NotificationsUnsupported as error:
                self._note_failure(error)
                return
            except Exception as error:  # noqa: BLE001 - retried after any error
                self._note_failure(error)
            finally:
                self._alive = False
                self._expect_no_beat()
            await asyncio.sleep(self._backoff.next())

    async def _listen_once(self) -> None:
        relayed = self._transport.reach is Reach.RELAYED
        channels = (*self._handlers, BEAT_CHANNEL) if relayed else tuple(self._handlers)
        async with self._transport.subscribe(channels) as messages:
            if relayed:
                self._expect_beat()
            else:
                self._note_recovery()
            async for channel, payload in messages:
                if channel == BEAT_CHANNEL:
                    self._beat(payload)
                elif handler := self._handlers.get(channel):
                    handler(payload)
        raise NotificationsUnavailable(f"{self._transport.name} ended the subscription")

    def _beat(self, payload: str) -> None:
        self._expect_beat()
        if payload == BACK or not self._alive:
            self._note_recovery()

    def _expect_beat(self) -> None:
        self._expect_no_beat()
        self._silence = asyncio.get_running_loop().call_later(self._options.beat_within, self._fell_silent)

    def _expect_no_beat(self) -> None:
        if self._silence is not None:
            self._silence.cancel()
            self._silence = None

    def _fell_silent(self) -> None:
        self._alive = False
        self._note_failure(
            NotificationsUnavailable(f"no relay forwards to {self._transport.name}: see `rolecall relay`")
        )

    def _note_recovery(self) -> None:
        if self._has_warned:
            log.info("Notifications arrive again")
        elif not self._alive:
            log.info("Notifications arrive through %s", self._transport.name)
        self._alive = True
        self._has_warned = False
        self._backoff.reset()
        self._on_return()

    def _note_failure(self, error: Exception) -> None:
        level = logging.DEBUG if self._has_warned else logging.WARNING
        # Errors of ours and of the network explain themselves. Any other error is a bug and needs its traceback.
        unexpected = None if isinstance(error, (RolecallError, OSError)) else error
        log.log(level, "No notifications, polling instead: %s", error, exc_info=unexpected)
        if self._on_failure is not None and not self._has_warned:
            self._on_failure(error)
        self._has_warned = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresOptions:
    """In seconds: the interval of self-tests, the timeout of each, and that of the first probe.

    Through a pooler, which gets only one attempt, the first probe has more time.
    """

    test_every: float = 10.0
    answer_within: float = 5.0
    probe_within: float = 2.0
    probe_within_pooled: float = 10.0


def probe_channel() -> str:
    """Return a unique channel name, because a LISTEN can outlive the listener behind a pooler."""
    return f"rolecall_probe_{secrets.token_hex(8)}"


def notify(channel: str, payload: str = "") -> Statement[None]:
    """Return the statement that notifies a channel."""
    return Statement(query="select pg_notify(%s, %s)", params=(channel, payload), read=lambda _rows: None)


class PostgresTransport:
    """Subscribes with LISTEN on a connection from `connect`.

    `send` notifies on another connection. Behind a transaction pooler, LISTEN succeeds but nothing arrives, which only
    a round trip reveals. That does not change, so it raises NotificationsUnsupported.
    """

    name = "Postgres"
    reach = Reach.ALL

    def __init__(
        self, connect: Callable[[], Awaitable[Connection]], send: Send, options: PostgresOptions | None = None
    ) -> None:
        self._connect = connect
        self._send = send
        self._options = options or PostgresOptions()

    @asynccontextmanager
    async def subscribe(self, channels: Collection[str]) -> AsyncIterator[AsyncIterator[Message]]:
        """Test that notifications arrive, then listen.

        Raises NotificationsUnsupported behind a pooler, and NotificationsUnavailable.
        """
        with _translated():
            connection = await self._connect()
        try:
            probe = probe_channel()
            with _translated():
                await self._prove(connection, probe)
                for channel in channels:
                    await self._query(connection, f"listen {channel}")
                await self._query(connection, f"unlisten {probe}")
            async with aclosing(self._receive(connection, channels)) as messages:
                yield messages
        finally:
            await connection.close()

    async def publish(self, channel: str, payload: str) -> None:
        with _translated():
            await self._send(notify(channel, payload))

    async def close(self) -> None:
        """Do nothing: each subscription closes its own connection."""

    async def _prove(self, connection: Connection, probe: str) -> None:
        ((served_by,),) = await self._query(connection, "select pg_backend_pid()")
        pooled = served_by != connection.info.backend_pid
        within = self._options.probe_within_pooled if pooled else self._options.probe_within
        await self._listen_first(connection, probe)
        await self._send(notify(probe))
        if await _comes(connection, probe, within):
            return
        await self._query(connection, f"unlisten {probe}")
        if pooled:
            raise NotificationsUnsupported(
                "this connection goes through a pooler; set ROLECALL_LISTEN_URL to a direct one"
            )
        raise NotificationsUnavailable("LISTEN works, but nothing arrives")

    async def _listen_first(self, connection: Connection, channel: str) -> None:
        try:
            await self._query(connection, f"listen {channel}")
        except psycopg.OperationalError:
            raise
        except psycopg.Error:
            # Old entries of the notification queue can make LISTEN fail. Querying the queue's usage advances its tail.
            await self._query(connection, "select pg_notification_queue_usage()")
            await self._query(connection, f"listen {channel}")

    async def _receive(self, connection: Connection, channels: Collection[str]) -> AsyncGenerator[Message, None]:
        with _translated():
            while True:
                async with aclosing(connection.notifies(timeout=self._options.test_every)) as notifies:
                    async for notify_ in notifies:
                        yield notify_.channel, notify_.payload
                listening = await self._query(connection, "select pg_listening_channels()")
                if not {channel for (channel,) in listening} >= set(channels):
                    raise NotificationsUnavailable("the server has dropped the subscriptions of this session")

    async def _query(self, connection: Connection, query: str) -> list[tuple[Any, ...]]:
        async with asyncio.timeout(self._options.answer_within):
            cursor = await connection.execute(query.encode())
            return await cursor.fetchall() if cursor.description else []


async def _comes(connection: Connection, channel: str, within: float) -> bool:
    # After a break, the generator would keep the connection locked until it is garbage-collected.
    async with aclosing(connection.notifies(timeout=within)) as notifies:
        async for heard in notifies:
            if heard.channel == channel:
                return True
    return False


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise NotificationsUnavailable(str(error)) from error
