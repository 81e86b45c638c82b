"""Middleware that looks at the storage before a task asks the upstream for something that could not be kept."""

from __future__ import annotations

from typing import Any

from rolecall import Context, Next
from storecrawl.roles.crawler import FETCHING_ROLES, LAKE_ROLE, Crawler

ROLES = frozenset({*FETCHING_ROLES, "product_refresh", LAKE_ROLE})


class StorageFirst:
    """Raises PayloadUnreachable before a task that needs the storage begins. `Postponement` then snoozes it."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    async def __call__(self, ctx: Context, call_next: Next) -> Any:
        if ctx.task.role in ROLES:
            await self._crawler.run_in_thread(self._crawler.payloads.look)
        return await call_next()
