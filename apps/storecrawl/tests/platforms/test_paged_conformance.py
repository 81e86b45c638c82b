"""Dispense and Weedmaps keep the contract that the crawler relies on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest_asyncio
from storecrawl.demo.upstream import LocalUpstream, UpstreamOptions
from storecrawl.demo.upstream.dispense_document import dispense_product, organization_id, venue_id
from storecrawl.demo.upstream.other_platforms import DISPENSE, DISPENSE_KEY, WEEDMAPS, dispense_stores, weedmaps_stores
from storecrawl.demo.upstream.product_document import Document, Listing
from storecrawl.demo.upstream.stores import WorldStore
from storecrawl.demo.upstream.weedmaps_document import listing_id, menu_item
from storecrawl.demo.upstream.world import World
from storecrawl.platforms.dispense.platform import Dispense
from storecrawl.platforms.protocol import Area
from storecrawl.platforms.weedmaps.platform import Weedmaps
from storecrawl.testing import PlatformConformance, PlatformWorld

SMALL_WORLD = UpstreamOptions(stores=6, seed=7, menu_smallest=5, menu_median=8, menu_largest=12)


def in_first_state(stores: list[WorldStore]) -> list[WorldStore]:
    return [store for store in stores if store.city.state == stores[0].city.state]


def products_of(world: World, store: WorldStore, write: Callable[[Listing], Document]) -> set[str]:
    return {str(write(listing)["id"]) for listing in world.shown_listings(store, 0)}


class TestDispense(PlatformConformance):
    @pytest_asyncio.fixture
    async def world(self) -> AsyncIterator[PlatformWorld]:
        async with LocalUpstream(SMALL_WORLD) as upstream:
            world = World(SMALL_WORLD)
            stores = in_first_state(dispense_stores(world))
            yield PlatformWorld(
                platform=Dispense,
                upstream=f"{upstream.url}{DISPENSE}",
                area=Area(state=stores[0].city.state.code),
                menus={venue_id(store): products_of(world, store, dispense_product) for store in stores},
                unknown_id="0123456789abcdef",
                own={"api_key": DISPENSE_KEY, "organizations": tuple({organization_id(store) for store in stores})},
            )


class TestWeedmaps(PlatformConformance):
    @pytest_asyncio.fixture
    async def world(self) -> AsyncIterator[PlatformWorld]:
        async with LocalUpstream(SMALL_WORLD) as upstream:
            world = World(SMALL_WORLD)
            stores = in_first_state(weedmaps_stores(world))
            yield PlatformWorld(
                platform=Weedmaps,
                upstream=f"{upstream.url}{WEEDMAPS}",
                area=Area(state=stores[0].city.state.code),
                menus={str(listing_id(store)): products_of(world, store, menu_item) for store in stores},
                unknown_id="1",
            )
