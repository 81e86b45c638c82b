"""Notifications within one process, for workers in the process that enqueues; and a transport without notifications."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Collection
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from threading import Lock

from rolecall.transport.transport import Message, Reach


@dataclass(frozen=True, slots=True, eq=False)
class _Subscriber:
    loop: asyncio.AbstractEventLoop
    channels: frozenset[str]
    messages: asyncio.Queue[Message]


class InProcess:
    """Delivers to all subscribers in this process, from any thread to any event loop.

    An empty payload addresses all of them. Without `subscribers`, publishing is unnecessary.
    """

    name = "this process"
    reach = Reach.PROCESS

    def __init__(self) -> None:
        self._lock = Lock()
        self.subscribers: frozenset[_Subscriber] = frozenset()

    @asynccontextmanager
    async def subscribe(self, channels: Collection[str]) -> AsyncIterator[AsyncIterator[Message]]:
        subscriber = _Subscriber(asyncio.get_running_loop(), frozenset(channels), asyncio.Queue())
        with self._lock:
            self.subscribers |= {subscriber}
        try:
            async with aclosing(_each(subscriber.messages)) as messages:
                yield messages
        finally:
            with self._lock:
                self.subscribers -= {subscriber}

    def say(self, channel: str, payload: str) -> None:
        for subscriber in self.subscribers:
            if channel in subscriber.channels and not subscriber.loop.is_closed():
                subscriber.loop.call_soon_threadsafe(subscriber.messages.put_nowait, (channel, payload))

    async def publish(self, channel: str, payload: str) -> None:
        self.say(channel, payload)

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""


class Silence:
    """Delivers nothing, so that workers poll."""

    name = "polling"
    reach = Reach.NOTHING

    @asynccontextmanager
    async def subscribe(self, channels: Collection[str]) -> AsyncIterator[AsyncIterator[Message]]:  # noqa: ARG002
        async with aclosing(_each(asyncio.Queue())) as messages:
            yield messages

    async def publish(self, channel: str, payload: str) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""


# The transport of the setting `in-process`, shared by the clients and workers of this process.
THIS_PROCESS = InProcess()


async def _each(messages: asyncio.Queue[Message]) -> AsyncGenerator[Message, None]:
    while True:
        yield await messages.get()
