"""Platforms keep the contract that the crawler relies on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from storecrawl.demo.upstream import LocalUpstream, UpstreamOptions
from storecrawl.demo.upstream.world import World
from storecrawl.platforms.dutchie import Dutchie
from storecrawl.platforms.protocol import Area
from storecrawl.testing import PlatformConformance, PlatformWorld

from apps.storecrawl.tests.platforms.conftest import Serve
from apps.storecrawl.tests.platforms.corner import PAGE, Corner

SMALL_WORLD = UpstreamOptions(stores=3, seed=7, menu_smallest=5, menu_median=8, menu_largest=12)


class TestDutchie(PlatformConformance):
    @pytest_asyncio.fixture
    async def world(self) -> AsyncIterator[PlatformWorld]:
        async with LocalUpstream(SMALL_WORLD) as upstream:
            world = World(upstream.options)
            stores = world.stores({})
            state = stores[0]["location"]["state"]
            yield PlatformWorld(
                platform=Dutchie,
                upstream=upstream.url,
                area=Area(state=state),
                menus={
                    store["id"]: world.offered_products(store["id"], 0)
                    for store in stores
                    if store["location"]["state"] == state
                },
                unknown_id="0" * 24,
            )


STORES: list[dict[str, Any]] = [
    {"id": number, "name": f"Corner {number}", "slug": f"corner-{number}", "state": "AZ"} for number in (1, 2)
]
ITEMS: dict[int, list[dict[str, Any]]] = {
    store["id"]: [
        {
            "sku": f"{store['id']}-{number}",
            "title": f"Item {number}",
            "kind": "Flower",
            "size": "1g",
            "price": 9.5,
            "left": 3,
        }
        for number in range(3)
    ]
    for store in STORES
}


async def corner_response(request: Request) -> Response:
    """Answer like the platform that the guide describes."""
    match request.url.path.strip("/").split("/"):
        case ["stores"]:
            return JSONResponse([store for store in STORES if store["state"] == request.query_params["state"]])
        case ["stores", name] if found := [store for store in STORES if name in {str(store["id"]), store["slug"]}]:
            return JSONResponse(found[0])
        case ["stores", name, "items"]:
            first = int(request.query_params["from"])
            return JSONResponse(ITEMS[int(name)][first : first + PAGE])
    return JSONResponse({"message": "no"}, status_code=404)


class TestCorner(PlatformConformance):
    @pytest_asyncio.fixture
    async def world(self, serve: Serve) -> PlatformWorld:
        return PlatformWorld(
            platform=Corner,
            upstream=await serve(corner_response),
            area=Area(state="AZ"),
            menus={str(store): {item["sku"] for item in items} for store, items in ITEMS.items()},
            unknown_id="99",
        )
