"""Transports that always do what any transport may do: lose, repeat, reorder."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection
from contextlib import aclosing, asynccontextmanager

from rolecall.transport.transport import BEAT_CHANNEL, Message, Reach, Transport

TOGETHER = 0.05
Fault = Callable[[AsyncIterator[Message]], AsyncGenerator[Message, None]]


class Faulty:
    """Wraps a transport and changes the notifications received from it."""

    def __init__(self, inner: Transport, fault: Fault) -> None:
        self._inner = inner
        self._fault = fault

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def reach(self) -> Reach:
        return self._inner.reach

    @asynccontextmanager
    async def subscribe(self, channels: Collection[str]) -> AsyncIterator[AsyncIterator[Message]]:
        async with self._inner.subscribe(channels) as messages, aclosing(self._fault(messages)) as changed:
            yield changed

    async def publish(self, channel: str, payload: str) -> None:
        await self._inner.publish(channel, payload)

    async def close(self) -> None:
        await self._inner.close()


def lossy(transport: Transport) -> Transport:
    """Lose everything but the heartbeats of relays, so that listeners consider the transport healthy."""
    return Faulty(transport, _lose)


def repeating(transport: Transport) -> Transport:
    """Deliver everything three times."""
    return Faulty(transport, _repeat)


def shuffling(transport: Transport) -> Transport:
    """Deliver what arrives within a moment in reverse order."""
    return Faulty(transport, _shuffle)


async def _lose(messages: AsyncIterator[Message]) -> AsyncGenerator[Message, None]:
    async for message in messages:
        if message[0] == BEAT_CHANNEL:
            yield message


async def _repeat(messages: AsyncIterator[Message]) -> AsyncGenerator[Message, None]:
    async for message in messages:
        for _ in range(3):
            yield message


async def _shuffle(messages: AsyncIterator[Message]) -> AsyncGenerator[Message, None]:
    waiting: asyncio.Queue[Message | Exception] = asyncio.Queue()
    reading = asyncio.create_task(_read(messages, waiting))
    try:
        while True:
            batch = [await waiting.get()]
            await asyncio.sleep(TOGETHER)
            batch += [waiting.get_nowait() for _ in range(waiting.qsize())]
            for message in reversed(batch):
                if isinstance(message, Exception):
                    raise message
                yield message
    finally:
        reading.cancel()
        await asyncio.wait({reading})


async def _read(messages: AsyncIterator[Message], waiting: asyncio.Queue[Message | Exception]) -> None:
    try:
        async for message in messages:
            waiting.put_nowait(message)
    except Exception as error:  # noqa: BLE001 - raised again where the queue is read
        waiting.put_nowait(error)
