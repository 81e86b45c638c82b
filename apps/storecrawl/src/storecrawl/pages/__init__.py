"""The crawler's pages beside the dashboard's own: stores, discovery, crawl payloads and what changed, products.

`app.mount("storecrawl.pages:router", crawler)` has Rolecall's server show them. Each module is a router of routes that
look up and name a template; what they look up is shared with the API (`storecrawl.serving`, `storecrawl.catalog`).
"""

from __future__ import annotations

from fastapi import Depends

from rolecall.web import NavigationEntry, Pages
from storecrawl.pages import brands, diff, discovery, locations, payloads, products, raw_menus, refusals, routes, stores
from storecrawl.pages.menus import KeepMenus
from storecrawl.roles.crawler import Crawler
from storecrawl.serving.resources import ProvideResources

__all__ = ["router"]

ROUTERS = (
    stores.router,
    discovery.router,
    locations.router,
    diff.router,
    payloads.router,
    raw_menus.router,
    refusals.router,
    products.router,
    brands.router,
    routes.router,
)
ENTRIES = (
    NavigationEntry(label="Stores", path="/stores", icon="stores", group="Stores"),
    NavigationEntry(label="Discovery", path="/discovery", icon="places", group="Stores"),
    NavigationEntry(label="Payloads", path="/payloads", icon="payloads", group="Stores"),
    NavigationEntry(label="Products", path="/products", icon="products", group="Stores"),
    NavigationEntry(label="Brands", path="/brands", icon="brands", group="Stores"),
    NavigationEntry(label="Routes", path="/routes", icon="chains", group="Stores"),
)


def router(crawler: Crawler) -> Pages:
    """Make the router of all pages, over the crawler's payload files."""
    whole = Pages("storecrawl.pages", ENTRIES)
    provided = [Depends(ProvideResources(crawler.payloads)), Depends(KeepMenus())]
    for each in ROUTERS:
        whole.include_router(each, dependencies=provided)
    return whole
