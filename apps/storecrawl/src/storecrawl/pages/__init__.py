"""The crawler's dashboard pages: stores, discovery, crawl payloads and their changes, products.

`app.mount("storecrawl.pages:router", crawler)` adds them to Rolecall's server. Each module is a router of
routes that look up data and render a template. Lookups are shared with the API (`storecrawl.serving`,
`storecrawl.catalog`).
"""

from __future__ import annotations

from rolecall.web import NavigationEntry, Pages
from storecrawl.pages import (
    brands,
    diff,
    discovery,
    locations,
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
    discovery.router,
    locations.router,
    diff.router,
    payloads.router,
    raw_menus.router,
    refusals.router,
    products.router,
    brands.router,
    routes.router,
    quality.router,
)
ENTRIES = (
    NavigationEntry(label="Stores", path="/stores", icon="stores", group="Stores"),
    NavigationEntry(label="Discovery", path="/discovery", icon="places", group="Stores"),
    NavigationEntry(label="Payloads", path="/payloads", icon="payloads", group="Stores"),
    NavigationEntry(label="Products", path="/products", icon="products", group="Stores"),
    NavigationEntry(label="Brands", path="/brands", icon="brands", group="Stores"),
    NavigationEntry(label="Routes", path="/routes", icon="chains", group="Stores"),
    NavigationEntry(label="Quality", path="/quality", icon="check", group="Stores"),
)


router = Pages("storecrawl.pages", ENTRIES)
for _each in ROUTERS:
    router.include_router(_each)
