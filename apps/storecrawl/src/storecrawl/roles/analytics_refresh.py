"""analytics_refresh: bring the materialized views up to date."""

from __future__ import annotations

from rolecall import App, Context
from storecrawl.catalog import refresh_views


def add_analytics_refresh(app: App) -> None:
    """Define the handler."""

    @app.task(role="analytics_refresh")
    async def analytics_refresh(ctx: Context) -> None:
        """Refresh the views; readers go on meanwhile."""
        async with ctx.transaction() as tx:
            await refresh_views(tx)
            await ctx.complete(tx, None)
