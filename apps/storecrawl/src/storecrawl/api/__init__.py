"""The crawler over HTTP: stores, crawl payloads and what is in them, and the tasks that are made for many stores.

`app.mount("storecrawl.api:router", crawler)` has Rolecall's server answer it. Each module is a router of functions of
a few lines; `resources` hands them the crawler's payload files, `refusals` says as problem documents what cannot be
done.
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
    menu_questions,
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

__all__ = ["router"]

ROUTERS = (
    stores.router,
    brands.router,
    payloads.router,
    raw_menus.router,
    refusals.router,
    images.router,
    menu_diff.router,
    menu_questions.router,
    discovery.router,
    generate.router,
    job_queue.router,
    batches.router,
    routes.router,
)


def router(crawler: Crawler) -> APIRouter:
    """Make the router of everything, over the crawler's payload files and images."""
    pictures = ProvidePictures(crawler.image_files, ImageLimits(max_bytes=crawler.settings.image_bytes))
    whole = APIRouter(dependencies=[Depends(ProvideResources(crawler.payloads)), Depends(pictures)])
    for each in ROUTERS:
        whole.include_router(each)
    return whole
