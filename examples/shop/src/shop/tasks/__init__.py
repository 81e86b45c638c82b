"""The background tasks: the shop's app, and its handlers by subject."""

from __future__ import annotations

from rolecall import App
from shop.migrations import MIGRATIONS
from shop.tasks.orders import orders
from shop.tasks.reports import reports
from shop.tasks.resources import resources

__all__ = ["app"]

app = App("shop", lifespan=resources, migrations=[MIGRATIONS])
app.include(orders)
app.include(reports)
