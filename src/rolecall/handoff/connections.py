"""A process's connections to the Redis of each band, and the queue on top. Reconnects after a loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from rolecall.config.handoff import HandoffKind, HandoffSettings
from rolecall.handoff.lanes import Band
from rolecall.handoff.lists import ListQueue
from rolecall.handoff.queues import BandQueues, HandoffQueue, kind_for
from rolecall.handoff.simple import SimpleQueue
from rolecall.handoff.streams import StreamQueue
from rolecall.transport.brokers import RedisAway, RedisLink, connect_redis

Make = Callable[[RedisLink, str], HandoffQueue]
QUEUES: Mapping[HandoffKind, Make] = {
    HandoffKind.STREAMS: StreamQueue,
    HandoffKind.LISTS: ListQueue,
    HandoffKind.SIMPLE: SimpleQueue,
}


class Connections:
    """Links to Redis, under the name of a worker or dispatcher.

    `control` is the server with heartbeats, the leader's lock and the roles: that of the high band.
    """

    def __init__(self, settings: HandoffSettings, name: str) -> None:
        self.name = name
        self._kind = settings.kind
        urls = {Band.HIGH: settings.high or "", Band.LOW: settings.low or ""}
        links = {url: connect_redis(url) for url in dict.fromkeys(urls.values())}
        self._links = {band: links[url] for band, url in urls.items()}
        self.control: RedisLink = self._links[Band.HIGH]

    def link(self, band: Band) -> RedisLink:
        """Return the link to a band's Redis."""
        return self._links[band]

    async def open(self) -> tuple[HandoffQueue, str]:
        """Detect the kind of queues. Return the queue and the name of its kind. Raises RedisAway."""
        queues = {}
        kinds = []
        for link in dict.fromkeys(self._links.values()):
            kind = await kind_for(link, self._kind)
            kinds.append(kind)
            queues[link] = QUEUES[kind](link, self.name)
        if len(queues) == 1:
            return queues[self.control], kinds[0]
        return BandQueues({band: queues[link] for band, link in self._links.items()}), "+".join(kinds)

    async def close(self) -> None:
        for link in dict.fromkeys(self._links.values()):
            with suppress(RedisAway):
                await link.close()
