"""What the roles work with: the upstream client, the payload files, and how a store's tasks are called."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cached_property
from typing import ParamSpec, TypeVar

from storecrawl.payloads import PayloadStore
from storecrawl.settings import CrawlSettings
from storecrawl.upstream import ClientOptions, UpstreamClient

P = ParamSpec("P")
T = TypeVar("T")


class Crawler:
    """The shared means of one process."""

    def __init__(self, settings: CrawlSettings) -> None:
        self.settings = settings
        self._upstream: UpstreamClient | None = None

    @property
    def upstream(self) -> UpstreamClient:
        """The one client of this worker, so that its concurrency limit holds for all slots."""
        if self._upstream is None:
            raise RuntimeError("the upstream client lives as long as a worker does: enter the app's lifespan")
        return self._upstream

    @cached_property
    def payloads(self) -> PayloadStore:
        """The crawl payload files."""
        return PayloadStore(self.settings.data_dir / "payloads")

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Hold the client open for the life of a worker, and close it at the end."""
        # A line for each page would drown those about tasks.
        logging.getLogger("httpx2").setLevel(logging.WARNING)
        self._upstream = UpstreamClient(self.settings.upstream, options=self._client_options())
        async with self._upstream:
            yield

    async def in_thread(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run blocking work beside the loop, so that other slots and the leases go on."""
        return await asyncio.to_thread(work, *args, **kwargs)

    def _client_options(self) -> ClientOptions:
        return ClientOptions(page_pause=self.settings.page_pause, backoff=self.settings.backoff)


def store_key(store_id: int) -> str:
    """The key under which at most one task of a store runs."""
    return f"store:{store_id}"
