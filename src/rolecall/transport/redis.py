"""Notifications over Redis pub/sub: one connection per subscription, which tests itself, and one for publishing."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager

from redis.asyncio.connection import AbstractConnection
from redis.exceptions import RedisError

from rolecall.config.brokers import BrokerAddress
from rolecall.transport.brokers.cuts import cuts_as_os_errors
from rolecall.transport.brokers.redis import link_to
from rolecall.transport.transport import Message, NotificationsUnavailable, Reach

TEST_EVERY = 10.0
ANSWER_WITHIN = 5.0


class RedisTransport:
    """Subscribes and publishes on a Redis or Valkey server. `rediss://` uses TLS. In a cluster, any node works."""

    reach = Reach.RELAYED

    def __init__(self, address: BrokerAddress) -> None:
        self.name = address.shown
        self._prefix = f"{address.prefix}:" if address.prefix else ""
        self._link = link_to(address.urls[0])

    @asynccontextmanager
    async def subscribe(self, channels: Collection[str]) -> AsyncIterator[AsyncIterator[Message]]:
        """Subscribe on a separate connection. The server has confirmed it when the block begins.

        Raises NotificationsUnavailable.
        """
        # Not with the library's pub/sub, which reconnects silently. The listener must know about gaps.
        connection = self._link.connection()
        try:
            with _translated():
                await connection.connect()  # type: ignore[no-untyped-call]  # theirs
                await connection.send_command("SUBSCRIBE", *(self._prefix + channel for channel in channels))
                for _ in channels:
                    await connection.read_response()
            async with aclosing(self._receive(connection)) as messages:
                yield messages
        finally:
            await connection.disconnect(nowait=True)

    async def publish(self, channel: str, payload: str) -> None:
        """Publish. Raises RedisAway if the server does not answer."""
        await self._link.call("PUBLISH", self._prefix + channel, payload)

    async def close(self) -> None:
        await self._link.close()

    async def _receive(self, connection: AbstractConnection) -> AsyncGenerator[Message, None]:
        has_pinged = False
        with _translated():
            while True:
                within = ANSWER_WITHIN if has_pinged else TEST_EVERY
                reply = await connection.read_response(timeout=within, disconnect_on_error=False)
                if reply is None and has_pinged:
                    raise NotificationsUnavailable("Redis does not answer")
                has_pinged = reply is None
                if reply is None:
                    await connection.send_command("PING")
                elif reply[0] == b"message":
                    yield reply[1].decode().removeprefix(self._prefix), reply[2].decode(errors="replace")


@contextmanager
def _translated() -> Iterator[None]:
    try:
        with cuts_as_os_errors():
            yield
    except (RedisError, OSError) as error:
        raise NotificationsUnavailable(str(error) or "Redis does not answer") from error
