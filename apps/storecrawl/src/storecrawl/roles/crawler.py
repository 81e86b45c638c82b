"""Shared code of the roles: upstream client and egress, payload files, and the keys of a store's tasks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cached_property
from typing import ParamSpec, TypeVar

from rolecall import ConfigError, Workplace
from storecrawl.catalog import Plausibility, RefreshRules
from storecrawl.egress import Egress, EgressOptions, Recorder
from storecrawl.images import Addresses, ImageClient, ImageStore
from storecrawl.payloads import Limits, PayloadStore
from storecrawl.settings import CrawlSettings
from storecrawl.storage.locate import open_storage
from storecrawl.upstream import ClientOptions, UpstreamClient

P = ParamSpec("P")
T = TypeVar("T")

PAYLOADS = "payloads"
IMAGES = "images"
FETCHING_ROLES = (
    "store_discovery",
    "entry_point_discovery",
    "product_discovery",
    "product_resync",
    "payload_fetch",
    "image_fetch",
)
"""The roles whose tasks send requests."""

STORE_KEY = "store:{store_id}"
"""The key of all tasks about a store: at most one of them runs at a time."""


class Crawler:
    """The shared resources of one process."""

    def __init__(self, settings: CrawlSettings) -> None:
        self.settings = settings
        self._upstream: UpstreamClient | None = None
        self._images: ImageClient | None = None

    @property
    def upstream(self) -> UpstreamClient:
        """The only client of this worker, so that its concurrency limit applies to all slots."""
        if self._upstream is None:
            raise RuntimeError(f"only workers of the roles {', '.join(FETCHING_ROLES)} call the upstream")
        return self._upstream

    @property
    def images(self) -> ImageClient:
        if self._images is None:
            raise RuntimeError(f"only workers of the roles {', '.join(FETCHING_ROLES)} fetch images")
        return self._images

    @cached_property
    def image_files(self) -> ImageStore:
        return image_store(self.settings)

    @cached_property
    def payloads(self) -> PayloadStore:
        return payload_store(self.settings)

    @asynccontextmanager
    async def lifespan(self, workplace: Workplace) -> AsyncIterator[None]:
        """Keep client and egress open while a worker that fetches runs.

        Raises NoActiveRoute if there is no route, ConfigError, DatabaseUnavailable.
        """
        if not workplace.serves_any(*FETCHING_ROLES):
            yield
            return
        if not self.settings.upstream:
            raise ConfigError("must be the URL of a platform", variable="STORECRAWL_UPSTREAM")
        # One line per page would drown the lines about tasks.
        logging.getLogger("httpx2").setLevel(logging.WARNING)
        async with Egress(self._egress_options(), recorder=Recorder(workplace.dsn)) as egress:
            options = self._client_options()
            self._images = self._image_client(egress)
            async with UpstreamClient(self.settings.upstream, options=options, egress=egress) as self._upstream:
                yield

    async def run_in_thread(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run blocking work in a thread, so that other slots and heartbeats continue."""
        return await asyncio.to_thread(work, *args, **kwargs)

    def _image_client(self, egress: Egress) -> ImageClient:
        addresses = Addresses(self.settings.image_networks)
        return ImageClient(egress, addresses, max_bytes=self.settings.image_bytes)

    def _client_options(self) -> ClientOptions:
        settings = self.settings
        return ClientOptions(
            page_pause=settings.page_pause,
            backoff=settings.backoff,
            longest_retry_after=settings.longest_retry_after,
            stores_path=settings.stores_path,
            menus_path=settings.menus_path,
            hashes=settings.hashes_by_operation,
        )

    def _egress_options(self) -> EgressOptions:
        settings = self.settings
        return EgressOptions(
            reload_every=settings.routes_every,
            forbidden_limit=settings.forbidden_limit,
            pause=settings.route_pause,
            longest_pause=15 * settings.route_pause,
            host_rate=settings.host_rate,
            store_rate=settings.store_rate,
            breaker_failures=settings.breaker_failures,
            breaker_seconds=settings.breaker_seconds,
        )


def store_key(store_id: int) -> str:
    """Return the key of a store's tasks."""
    return STORE_KEY.format(store_id=store_id)


def refresh_rules(settings: CrawlSettings) -> RefreshRules:
    """Return the rules by which menus are applied."""
    plausibility = Plausibility(confirmations=settings.confirmations)
    return RefreshRules(plausibility=plausibility, miss_threshold=settings.miss_threshold)


def payload_store(settings: CrawlSettings) -> PayloadStore:
    """Return the crawl payload files with the limits of the settings. Raises ConfigError as `open_storage` does."""
    storage = open_storage(settings.store, settings.data_dir, PAYLOADS)
    return PayloadStore(storage, limits=Limits(max_bytes=settings.payload_bytes))


def image_store(settings: CrawlSettings) -> ImageStore:
    """Return the images stored next to the crawl payload files. Raises ConfigError as `open_storage` does."""
    return ImageStore(open_storage(settings.store, settings.data_dir, IMAGES))
