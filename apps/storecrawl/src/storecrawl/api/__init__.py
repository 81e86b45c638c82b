"""The crawler's HTTP API: stores, crawl payloads and their contents, and the creation of tasks for many stores.

`app.mount("storecrawl.api:router", crawler)` adds it to Rolecall's server. Each module is a router of short
functions. `resources` provides the crawler's payload files, `refusals` turns errors into problem documents.
"""

from __future__ import annotations

from fastapi import APIRouter, Depends

from storecrawl.api import (
    batches,
    brands,
    discovery,
    generate,
    images,
    job_queue,
    menu_diff,
    menu_queries,
    payloads,
    raw_menus,
    refusals,
    routes,
    stores,
)
from storecrawl.images import ImageLimits
from storecrawl.roles.crawler import Crawler
from storecrawl.serving.pictures import ProvidePictures
from storecrawl.serving.resources import ProvideResources

ROUTERS = (
    stores.router,
    brands.router,
    payloads.router,
    raw_menus.router,
    refusals.router,
    images.router,
    menu_diff.router,
    menu_queries.router,
    discovery.router,
    generate.router,
    job_queue.router,
    batches.router,
    routes.router,
)


def router(crawler: Crawler) -> APIRouter:
    """Return the router of the whole API for the crawler's payload files and images."""
    pictures = ProvidePictures(crawler.image_files, ImageLimits(max_bytes=crawler.settings.image_bytes))
    whole = APIRouter(dependencies=[Depends(ProvideResources(crawler.payloads)), Depends(pictures)])
    for each in ROUTERS:
        whole.include_router(each)
    return whole
