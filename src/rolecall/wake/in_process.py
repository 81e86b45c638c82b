"""Notifications within one process, for workers that run beside the program that enqueues; and none at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Collection
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from threading import Lock

from rolecall.wake.transport import Message, Reach


@dataclass(frozen=True, slots=True, eq=False)
class _Subscriber:
    loop: asyncio.AbstractEventLoop
    channels: frozenset[str]
    heard: asyncio.Queue[Message]


class InProcess:
    """Carries from any thread of this process to all who subscribe in it, in whatever loop. An empty payload is for all
    of them; where there are no `subscribers`, nothing needs to be said.
    """

    name = "this process"
    reach = Reach.PROCESS

    def __init__(self) -> None:
        self._lock = Lock()
        self.subscribers: frozenset[_Subscriber] = frozenset()

    @asynccontextmanager
    async def subscribe(self, channels: Collection[str]) -> AsyncIterator[AsyncIterator[Message]]:
        """Subscribe while the block lasts."""
        subscriber = _Subscriber(asyncio.get_running_loop(), frozenset(channels), asyncio.Queue())
        with self._lock:
            self.subscribers |= {subscriber}
        try:
            async with aclosing(_each(subscriber.heard)) as heard:
                yield heard
        finally:
            with self._lock:
                self.subscribers -= {subscriber}

    def say(self, channel: str, payload: str) -> None:
        """Publish, from any thread."""
        for subscriber in self.subscribers:
            if channel in subscriber.channels and not subscriber.loop.is_closed():
                subscriber.loop.call_soon_threadsafe(subscriber.heard.put_nowait, (channel, payload))

    async def publish(self, channel: str, payload: str) -> None:
        """Say it to all who subscribe just now."""
        self.say(channel, payload)

    async def close(self) -> None:
        """Do nothing: who subscribes leaves by himself."""


class Silence:
    """Carries nothing: whoever subscribes polls."""

    name = "polling"
    reach = Reach.NOTHING

    @asynccontextmanager
    async def subscribe(self, channels: Collection[str]) -> AsyncIterator[AsyncIterator[Message]]:  # noqa: ARG002
        """Hear nothing while the block lasts."""
        async with aclosing(_each(asyncio.Queue())) as heard:
            yield heard

    async def publish(self, channel: str, payload: str) -> None:
        """Say it to nobody."""

    async def close(self) -> None:
        """Do nothing."""


# What the setting `in-process` means: by it this process's clients and workers hear of each other.
THIS_PROCESS = InProcess()


async def _each(heard: asyncio.Queue[Message]) -> AsyncGenerator[Message, None]:
    while True:
        yield await heard.get()
