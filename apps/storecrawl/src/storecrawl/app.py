"""The crawler as a Rolecall app: its roles, their settings, and its schedules."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from itertools import product

from rolecall import App, exponential
from storecrawl.health_checks import build_checks
from storecrawl.migrations import MIGRATIONS
from storecrawl.roles.analytics_refresh import add_analytics_refresh
from storecrawl.roles.crawler import LAKE_ROLE, STORE_KEY, Crawler
from storecrawl.roles.entry_point_discovery import add_entry_point_discovery
from storecrawl.roles.image_fetch import add_image_fetch
from storecrawl.roles.lake_update import add_lake_update
from storecrawl.roles.payload_fetch import add_payload_fetch, add_product_discovery, add_product_resync
from storecrawl.roles.payload_fetch_all import add_payload_fetch_all
from storecrawl.roles.postponement import Postponement
from storecrawl.roles.product_refresh import add_product_refresh
from storecrawl.roles.renormalize import add_renormalize
from storecrawl.roles.storage_first import StorageFirst
from storecrawl.roles.storage_upkeep import add_storage_upkeep
from storecrawl.roles.store_discovery import add_store_discovery
from storecrawl.roles.webhooks import add_webhooks
from storecrawl.settings import CrawlSettings

# Roles that call the upstream survive its outages: ten attempts take about forty minutes with the default
# delays. Timeouts limit one attempt; a discovery searches every city of the country.
UPSTREAM_ROLES = {
    "store_discovery": timedelta(hours=4),
    "entry_point_discovery": timedelta(minutes=10),
    "product_discovery": timedelta(minutes=30),
    "product_resync": timedelta(minutes=30),
    "payload_fetch": timedelta(minutes=30),
    "image_fetch": timedelta(minutes=30),
}
UPSTREAM_ATTEMPTS = 10
OTHER_ROLES = {
    "product_refresh": timedelta(minutes=10),
    "storage_upkeep": timedelta(hours=4),
}
# A separate role, so that statistics never delay fetches. One round at a time.
ANALYTICS_TIMEOUT = timedelta(hours=1)
ANALYTICS_ATTEMPTS = 10
# One task writes one day of one state.
LAKE_TIMEOUT = timedelta(hours=1)
# The last attempt is some three hours after the first, for receivers that are down. The checks run as often as this.
WEBHOOK_TIMEOUT = timedelta(minutes=1)
WEBHOOK_ATTEMPTS = 12
WEBHOOK_CAP = 180
WATCH_SECONDS = 300.0
PRIORITIES = {"store_discovery": 5}
# Each platform has separate schedules of these tasks.
PLATFORM_SCHEDULES = {"payload_fetch_all": "fetch_every", "store_discovery": "discover_every"}


def build_app(settings: CrawlSettings) -> App:
    """Build the app."""
    crawler = Crawler(settings)
    checks = build_checks(crawler)
    app = App(
        "storecrawl",
        lifespan=crawler.lifespan,
        middlewares=[Postponement(), StorageFirst(crawler)],
        checks=checks,
        migrations=[MIGRATIONS],
    )
    app.alias("dispensary_id", "store_id", key=STORE_KEY)
    app.alias("state_code", "state")
    app.alias("platform", "platform")
    app.mount("storecrawl.api:router", crawler)
    app.mount("storecrawl.pages:router", crawler)
    add_store_discovery(app, crawler)
    add_entry_point_discovery(app, crawler)
    add_product_discovery(app, crawler)
    add_payload_fetch_all(app, crawler)
    add_payload_fetch(app, crawler)
    add_product_resync(app, crawler)
    add_product_refresh(app, crawler)
    add_renormalize(app, crawler)
    add_analytics_refresh(app, crawler)
    add_image_fetch(app, crawler)
    add_storage_upkeep(app, crawler)
    add_lake_update(app, crawler)
    add_webhooks(app, checks)
    _declare_roles(app, settings)
    if settings.schedules:
        _declare_schedules(app, settings)
    return app


def _declare_roles(app: App, settings: CrawlSettings) -> None:
    patience = exponential(first=settings.retry_first, cap=30 * settings.retry_first)
    # At most one task of a store is claimed, as the health queries of the original system expect.
    declare = partial(app.role, retry=patience, lease=settings.lease, strict_keys=True)
    for name, timeout in UPSTREAM_ROLES.items():
        declare(name, max_attempts=UPSTREAM_ATTEMPTS, timeout=timeout)
    for name, timeout in OTHER_ROLES.items():
        declare(name, timeout=timeout)
    waiting = exponential(first=settings.retry_first, cap=WEBHOOK_CAP * settings.retry_first)
    declare("webhooks", timeout=WEBHOOK_TIMEOUT, max_attempts=WEBHOOK_ATTEMPTS, retry=waiting)
    declare("analytics_refresh", timeout=ANALYTICS_TIMEOUT, max_attempts=ANALYTICS_ATTEMPTS, one_root=True)
    declare(LAKE_ROLE, timeout=LAKE_TIMEOUT, one_root=True)


def _declare_schedules(app: App, settings: CrawlSettings) -> None:
    # Each run covers everything, so that a second one behind a long run would be useless.
    every = {
        "analytics_refresh": settings.analyse_every,
        "orphan_sweep": settings.sweep_every,
        "history_upkeep": settings.sweep_every,
        "payload_expiry": settings.sweep_every,
        "change_expiry": settings.sweep_every,
        "watch_quality": WATCH_SECONDS,
    }
    if settings.lake:
        every["lake_update"] = settings.lake_every
    for name, seconds in every.items():
        app.schedule(name, name, every=seconds, overlap="skip")
    for platform, (handler, interval) in product(settings.platforms, PLATFORM_SCHEDULES.items()):
        app.schedule(
            f"{handler}_{platform}",
            handler,
            every=getattr(settings.of(platform), interval),
            payload={"platform": platform},
            overlap="skip",
            priority=PRIORITIES.get(handler, 0),
        )


app = build_app(CrawlSettings.from_environment())
