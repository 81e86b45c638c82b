"""Notifications over core NATS, without JetStream or persistence."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from rolecall.config.brokers import BrokerAddress
from rolecall.transport.transport import Message, NotificationsUnavailable, Reach

TEST_EVERY = 5
ANSWER_WITHIN = 5
PUBLISHED_WITHIN = 2
Closed = Callable[[], Awaitable[None]]


class NatsTransport:
    """Subscribes and publishes on one of the given servers. `tls://` uses TLS."""

    reach = Reach.RELAYED

    def __init__(self, address: BrokerAddress) -> None:
        self.name = address.shown
        self._urls = address.urls
        self._prefix = address.prefix
        self._publisher: Client | None = None
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def subscribe(self, channels: Collection[str]) -> AsyncIterator[AsyncIterator[Message]]:
        """Subscribe on a separate connection. The server has confirmed it when the block begins.

        Raises NotificationsUnavailable.
        """
        messages: asyncio.Queue[Message | None] = asyncio.Queue()

        async def take(channel: str, message: Msg) -> None:
            messages.put_nowait((channel, message.data.decode(errors="replace")))

        async def closed() -> None:
            messages.put_nowait(None)

        with _translated():
            client = await self._connect(closed)
        try:
            with _translated():
                for channel in channels:
                    await client.subscribe(self._subject(channel), cb=partial(take, channel))
                await _settle(client, ANSWER_WITHIN)
            yield _read_messages(messages)
        finally:
            await _close(client)

    async def publish(self, channel: str, payload: str) -> None:
        """Publish, and wait until the server has received it. Raises NotificationsUnavailable if it does not answer."""
        async with self._turn:
            try:
                with _translated():
                    if self._publisher is None:
                        self._publisher = await self._connect(_ignore)
                    await self._publisher.publish(self._subject(channel), payload.encode())
                    await _settle(self._publisher, PUBLISHED_WITHIN)
            except NotificationsUnavailable:
                await self._drop()
                raise

    async def close(self) -> None:
        async with self._turn:
            await self._drop()

    async def _drop(self) -> None:
        client, self._publisher = self._publisher, None
        if client is not None:
            await _close(client)

    async def _connect(self, closed: Closed) -> Client:
        *others, last = random.sample(self._urls, len(self._urls))
        for url in others:
            with suppress(NatsError, OSError, TimeoutError):
                return await _connect(url, closed)
        return await _connect(last, closed)

    def _subject(self, channel: str) -> str:
        return f"{self._prefix}.{channel}" if self._prefix else channel


async def _connect(url: str, closed: Closed) -> Client:
    client = Client()
    try:
        async with asyncio.timeout(ANSWER_WITHIN):
            # The listener reconnects, because it must know about gaps.
            await client.connect(
                url,
                allow_reconnect=False,
                max_reconnect_attempts=1,
                reconnect_time_wait=0,
                connect_timeout=ANSWER_WITHIN,
                ping_interval=TEST_EVERY,
                max_outstanding_pings=1,
                error_cb=_ignore,
                closed_cb=closed,
            )
    except BaseException:
        await _close(client)
        raise
    return client


async def _settle(client: Client, seconds: int) -> None:
    # The library sends its first PING before buffered data. Only the answer to a second one confirms that data.
    await client.flush(seconds)
    await client.flush(seconds)


async def _read_messages(messages: asyncio.Queue[Message | None]) -> AsyncIterator[Message]:
    while (message := await messages.get()) is not None:
        yield message
    raise NotificationsUnavailable("the NATS server is unavailable")


async def _close(client: Client) -> None:
    # Do not wait for a server that does not answer.
    with suppress(NatsError, OSError, TimeoutError):
        async with asyncio.timeout(1):
            await client.close()


async def _ignore(*_told: object) -> None:
    """Ignore errors here, because the caller gets them as well."""


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (NatsError, OSError, TimeoutError) as error:
        raise NotificationsUnavailable(f"NATS: {error}" if str(error) else "NATS does not answer") from error
