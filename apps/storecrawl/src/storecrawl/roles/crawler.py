"""Shared code of the roles: platforms and egress, payload files, and the keys of a store's tasks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cached_property
from typing import ParamSpec, TypeVar

from rolecall import ConfigError, Workplace
from storecrawl.catalog import Plausibility, RefreshRules
from storecrawl.egress import Egress, EgressOptions, Rates, Recorder
from storecrawl.images import Addresses, ImageClient, ImageStore
from storecrawl.lake.days import PART as LAKE_PART
from storecrawl.lake.extra import require_lake
from storecrawl.payloads import MENU_RATIO, Limits, PayloadStore
from storecrawl.platforms.access import Access
from storecrawl.platforms.options import HttpOptions
from storecrawl.platforms.protocol import Platform
from storecrawl.platforms.registry import PLATFORMS
from storecrawl.platforms.settings import PlatformNotCrawled, read_own, variable_of
from storecrawl.settings import CrawlSettings
from storecrawl.storage import Storage
from storecrawl.storage.locate import open_storage

P = ParamSpec("P")
T = TypeVar("T")

PAYLOADS = "payloads"
IMAGES = "images"
LAKE_ROLE = "lake"
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
        self._platforms: dict[str, Platform] = {}
        self._images: ImageClient | None = None

    def platform(self, name: str) -> Platform:
        """Return a platform of this worker; its limits apply to all slots. Raises PlatformNotCrawled."""
        if name not in self.settings.platforms:
            raise PlatformNotCrawled(name)
        if name not in self._platforms:
            raise RuntimeError(f"only workers of the roles {', '.join(FETCHING_ROLES)} call a platform")
        return self._platforms[name]

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

    @cached_property
    def lake_files(self) -> Storage:
        return open_storage(self.settings.store, self.settings.data_dir, LAKE_PART)

    @asynccontextmanager
    async def lifespan(self, workplace: Workplace) -> AsyncIterator[None]:
        """Keep the egress open while a worker that fetches runs.

        Raises NoActiveRoute if there is no route, ConfigError, DatabaseUnavailable.
        """
        if self.settings.lake and workplace.serves_any(LAKE_ROLE):
            require_lake("STORECRAWL_LAKE")
        if not workplace.serves_any(*FETCHING_ROLES):
            yield
            return
        if not self.settings.platforms:
            variables = " or ".join(variable_of(name, "upstream") for name in PLATFORMS)
            raise ConfigError("must be the URL of a platform", variable=variables)
        # One line per page would drown the lines about tasks.
        logging.getLogger("httpx2").setLevel(logging.WARNING)
        async with Egress(self.egress_options(), recorder=Recorder(workplace.dsn)) as egress:
            self._images = self._image_client(egress)
            self._platforms = {name: PLATFORMS[name](self.access(name, egress)) for name in self.settings.platforms}
            yield

    async def run_in_thread(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run blocking work in a thread, so that other slots and heartbeats continue."""
        return await asyncio.to_thread(work, *args, **kwargs)

    def _image_client(self, egress: Egress) -> ImageClient:
        addresses = Addresses(self.settings.image_networks)
        return ImageClient(egress, addresses, max_bytes=self.settings.image_bytes)

    def access(self, platform: str, egress: Egress) -> Access:
        """Return the way to a platform. Raises PlatformNotCrawled, ConfigError."""
        if platform not in self.settings.platforms:
            raise PlatformNotCrawled(platform)
        settings, given = self.settings.of(platform), self.settings.platforms[platform]
        http = HttpOptions(
            page_pause=settings.page_pause,
            backoff=settings.backoff,
            longest_retry_after=settings.longest_retry_after,
        )
        rates = Rates(host=settings.host_rate, store=settings.store_rate)
        own = read_own(platform, given.own)
        return Access(upstream=given.upstream, egress=egress, http=http, rates=rates, own=own)

    def egress_options(self) -> EgressOptions:
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
    return PayloadStore(storage, limits=Limits(max_bytes=settings.payload_bytes, max_ratio=MENU_RATIO))


def image_store(settings: CrawlSettings) -> ImageStore:
    """Return the images stored next to the crawl payload files. Raises ConfigError as `open_storage` does."""
    return ImageStore(open_storage(settings.store, settings.data_dir, IMAGES))
