"""The crawler's HTTP API: stores, products, changes, crawl payloads, and the creation of tasks for many stores.

`app.mount("storecrawl.api:router", crawler)` adds it to Rolecall's server. Each module is a router of short
functions. `resources` provides the crawler's payload files, `refusals` turns errors into problem documents.
"""

from __future__ import annotations

from fastapi import APIRouter

from storecrawl.api import (
    batches,
    brands,
    changes,
    discovery,
    generate,
    job_queue,
    menu_diff,
    menus,
    payloads,
    products,
    quality,
    raw_menus,
    refusals,
    routes,
    stores,
)

ROUTERS = (
    stores.router,
    brands.router,
    products.router,
    changes.router,
    payloads.router,
    raw_menus.router,
    refusals.router,
    menu_diff.router,
    menus.router,
    discovery.router,
    generate.router,
    job_queue.router,
    batches.router,
    routes.router,
    quality.router,
)


router = APIRouter()
for _each in ROUTERS:
    router.include_router(_each)
