"""The platforms of the local upstream: how they are crawled, and which stores and products they have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from storecrawl.demo.state import FolderState
from storecrawl.demo.upstream import UpstreamOptions
from storecrawl.demo.upstream.dispense_document import dispense_product, organization_id, venue_id
from storecrawl.demo.upstream.other_platforms import DISPENSE, DISPENSE_KEY, WEEDMAPS, dispense_stores, weedmaps_stores
from storecrawl.demo.upstream.product_document import Listing
from storecrawl.demo.upstream.stores import WorldStore
from storecrawl.demo.upstream.weedmaps_document import listing_id, menu_item
from storecrawl.demo.upstream.world import World
from storecrawl.platforms.dispense.platform import API_KEY, ORGANIZATIONS, Dispense
from storecrawl.platforms.dutchie import Dutchie
from storecrawl.platforms.settings import PlatformSettings
from storecrawl.platforms.weedmaps.platform import DIRECTORY, Weedmaps


@dataclass(frozen=True, slots=True)
class _Served:
    """A platform next to the first: its stores, and the documents of their products."""

    stores: Callable[[World], list[WorldStore]]
    store_id: Callable[[WorldStore], object]
    document: Callable[[Listing], Mapping[str, Any]]


_SERVED = {
    Dispense.spec.name: _Served(dispense_stores, venue_id, dispense_product),
    Weedmaps.spec.name: _Served(weedmaps_stores, listing_id, menu_item),
}


def world_of(state: FolderState) -> World:
    """Return the world of a folder at its current step."""
    return World(
        UpstreamOptions(stores=state.stores, seed=state.seed, step_seconds=state.pace, epoch=state.start_of_step_0)
    )


def platform_settings(names: Sequence[str], upstream: str, state: FolderState) -> dict[str, PlatformSettings]:
    """Return the settings with which the platforms of these names are crawled; `upstream` is the local one's URL."""
    organizations = dict.fromkeys(map(organization_id, dispense_stores(world_of(state))))
    dispense = {API_KEY: DISPENSE_KEY, ORGANIZATIONS: ",".join(organizations)}
    weedmaps = f"{upstream}{WEEDMAPS}"
    known = {
        Dutchie.spec.name: PlatformSettings(upstream=upstream),
        Dispense.spec.name: PlatformSettings(upstream=f"{upstream}{DISPENSE}", own=dispense),
        Weedmaps.spec.name: PlatformSettings(upstream=weedmaps, own={DIRECTORY: weedmaps}),
    }
    return {name: known[name] for name in names}


def count_stores(names: Sequence[str], state: FolderState) -> int:
    """Return the number of stores on the platforms of these names; a store on two of them counts twice."""
    world = world_of(state)
    return sum(len(_SERVED[name].stores(world)) if name in _SERVED else state.stores for name in names)


def offered_products(world: World, platform: str, platform_store_id: str, step: int) -> set[str]:
    """Return the ids of all products that a store offers on a platform at a step."""
    if platform not in _SERVED:
        return world.offered_products(platform_store_id, step)
    served = _SERVED[platform]
    found = [each for each in served.stores(world) if str(served.store_id(each)) == platform_store_id]
    return {str(served.document(each)["id"]) for store in found for each in world.shown_listings(store, step)}
