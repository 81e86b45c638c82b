"""What the roles work with: the upstream client, the payload files, and how a store's tasks are called."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cached_property
from typing import ParamSpec, TypeVar

from storecrawl.payloads import PayloadStore
from storecrawl.settings import CrawlSettings
from storecrawl.upstream import ClientOptions, UpstreamClient

P = ParamSpec("P")
T = TypeVar("T")


class Crawler:
    """The shared means of one process; each is made when a role first needs it."""

    def __init__(self, settings: CrawlSettings) -> None:
        self.settings = settings

    @cached_property
    def upstream(self) -> UpstreamClient:
        """The one client, so that its concurrency limit holds for all slots of the process."""
        options = ClientOptions(page_pause=self.settings.page_pause, backoff=self.settings.backoff)
        return UpstreamClient(self.settings.upstream, options=options)

    @cached_property
    def payloads(self) -> PayloadStore:
        """The crawl payload files."""
        return PayloadStore(self.settings.data_dir / "payloads")

    async def in_thread(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run blocking work beside the loop, so that other slots and the leases go on."""
        return await asyncio.to_thread(work, *args, **kwargs)


def store_key(store_id: int) -> str:
    """The key under which at most one task of a store runs."""
    return f"store:{store_id}"
