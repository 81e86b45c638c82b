"""Streams of viewers. The poller of a process runs while there is at least one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from rolecall.model.errors import TooManyWatchers, UnknownRole
from rolecall.service.arguments import with_suggestion
from rolecall.service.database import Database
from rolecall.service.live.looker import ChangePoller, Connect
from rolecall.service.live.stream import Stream, Subscription
from rolecall.service.waits import Share
from rolecall.sql import insight

MOST_STREAMS = 100
MOST_OF_ONE = 10
WAIT = 30.0


class Live:
    """Opens streams. The first one starts the poller, the last one stops it.

    `connect` opens the connection of the listener, unless `can_listen` returns False: notifications would not arrive.
    Setting `closing` ends all streams.
    """

    def __init__(
        self,
        database: Database,
        connect: Connect,
        closing: asyncio.Event,
        *,
        can_listen: Callable[[], bool] = lambda: True,
        most_streams: int = MOST_STREAMS,
    ) -> None:
        self._database = database
        self._connect = connect
        self._closing = closing
        self._can_listen = can_listen
        self._most_streams = most_streams
        self._streams: list[Stream] = []
        self._share = Share(MOST_OF_ONE, f"{MOST_OF_ONE} of your streams are already open", retry_after=WAIT)
        self._turn = asyncio.Lock()
        self._poller: ChangePoller | None = None

    @property
    def watchers(self) -> int:
        """The number of open streams."""
        return len(self._streams)

    @asynccontextmanager
    async def watch(
        self, subscription: Subscription, after: str | None = None, *, caller: str | None = None
    ) -> AsyncIterator[Stream]:
        """Open a stream of changes that commit from now on, or after the event with this id.

        A caller can have ten streams; None is not limited. Raises TooManyRequests, TooManyWatchers, UnknownRole,
        TaskNotFound for a root, DatabaseUnavailable.
        """
        if len(self._streams) >= self._most_streams:
            raise TooManyWatchers(f"{self._most_streams} streams are open, which is the limit: try again later")
        with self._share.reserve(caller):
            stream = Stream(subscription)
            self._streams.append(stream)
            try:
                await self._begin(stream, after)
                yield stream
            finally:
                self._streams.remove(stream)
                if not self._streams:
                    await self.close()

    async def close(self) -> None:
        """Stop the poller until the next stream opens."""
        poller, self._poller = self._poller, None
        if poller is not None:
            await poller.stop()

    async def _begin(self, stream: Stream, after: str | None) -> None:
        if stream.subscription.roles:
            await self._require_roles(stream.subscription.roles)
        async with self._turn:
            if self._poller is None:
                connect = self._connect if self._can_listen() else None
                self._poller = await ChangePoller.start(self._database, connect, self._closing, self._streams)
            poller = self._poller
        await poller.start_stream(stream, after)

    async def _require_roles(self, names: frozenset[str]) -> None:
        unknown = sorted(names - {role.name for role in await self._database.run(insight.roles())})
        if unknown:
            raise await with_suggestion(UnknownRole(f"unknown role {unknown[0]!r}"), self._database, unknown)
