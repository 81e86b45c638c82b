"""Dispense and Weedmaps behind the contract, against the demo's world."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from storecrawl.demo.upstream import FaultDial, FaultKind, LocalUpstream, UpstreamOptions
from storecrawl.demo.upstream.answers import Answer
from storecrawl.demo.upstream.dispense_document import organization_id, venue_id
from storecrawl.demo.upstream.other_platforms import DISPENSE, DISPENSE_KEY, WEEDMAPS, dispense_stores, weedmaps_stores
from storecrawl.demo.upstream.stores import WorldStore
from storecrawl.demo.upstream.weedmaps_document import listing_id
from storecrawl.demo.upstream.world import World
from storecrawl.egress import Egress
from storecrawl.platforms.access import Access
from storecrawl.platforms.dispense.platform import Dispense, read_ids
from storecrawl.platforms.errors import Blocked, SchemaDrift, Truncated
from storecrawl.platforms.options import HttpOptions
from storecrawl.platforms.protocol import Area, StoreAddress
from storecrawl.platforms.raw_pages import RawPage
from storecrawl.platforms.weedmaps.platform import Weedmaps

SMALL_WORLD = UpstreamOptions(stores=14, menu_median=150, menu_largest=320)
QUICK = HttpOptions(backoff=0.01, page_pause=0.0)
PLATFORMS: dict[str, type[Dispense | Weedmaps]] = {"dispense": Dispense, "weedmaps": Weedmaps}
STORES: dict[str, Callable[[World], list[WorldStore]]] = {"dispense": dispense_stores, "weedmaps": weedmaps_stores}
IDS: dict[str, Callable[[WorldStore], str]] = {
    "dispense": venue_id,
    "weedmaps": lambda store: str(listing_id(store)),
}

on_each = pytest.mark.parametrize("name", ["dispense", "weedmaps"])
on_one = pytest.mark.parametrize("name", ["weedmaps"])
"""For the code that both share: the pages of Weedmaps are the smaller ones."""


@dataclass(kw_only=True)
class Crawl:
    """A platform with its world; `kept` are the responses of all menus."""

    platform: Dispense | Weedmaps
    name: str
    upstream: LocalUpstream
    stores: list[WorldStore]
    kept: list[RawPage] = field(default_factory=list)

    @property
    def address(self) -> StoreAddress:
        """The store with the longest menu."""
        longest = max(self.stores, key=lambda store: store.menu_size)
        return StoreAddress(platform_store_id=IDS[self.name](longest))

    async def fetch(self, **arguments: Any) -> Any:
        return await self.platform.fetch(self.address, keep=self.kept.append, **arguments)


@pytest_asyncio.fixture
async def crawl(name: str) -> AsyncIterator[Crawl]:
    stores = STORES[name](World(SMALL_WORLD))
    async with LocalUpstream(SMALL_WORLD) as upstream, Egress() as egress:
        own: dict[str, dict[str, object]] = {
            "dispense": {
                "api_key": DISPENSE_KEY,
                "organizations": read_ids(",".join(dict.fromkeys(map(organization_id, stores)))),
            },
            "weedmaps": {"directory": f"{upstream.url}{WEEDMAPS}"},
        }
        base = f"{upstream.url}{DISPENSE if name == 'dispense' else WEEDMAPS}"
        platform = PLATFORMS[name](Access(upstream=base, egress=egress, http=QUICK, own=own[name]))
        yield Crawl(platform=platform, name=name, upstream=upstream, stores=stores)


@on_each
async def test_discovery_of_a_city_leaves_out_other_cities(crawl: Crawl) -> None:
    city = crawl.stores[0].city

    found = await crawl.platform.discover(Area(state=city.state.code, city=city.name))
    assert {each.city for each in found.stores} == {city.name}
    assert len(found.records) == len(found.stores) > 0


@on_each
async def test_menu_of_several_pages_is_complete(crawl: Crawl) -> None:
    menu = await crawl.fetch()

    read = crawl.platform.read(menu.document())
    assert (len(crawl.kept), len(read.products), read.complete) == (len(menu.pages), menu.total, True)
    assert len(crawl.kept) > 1


@on_each
async def test_address_of_a_menu_leads_to_the_store(crawl: Crawl) -> None:
    found = await crawl.platform.resolve(crawl.stores[0].slug)

    assert (await crawl.platform.resolve(found.store.menu_url or "")).store == found.store


@on_one
async def test_menu_that_differs_from_its_digests_is_fetched_completely(crawl: Crawl) -> None:
    menu = await crawl.fetch()

    crawl.upstream.advance()
    changed = await crawl.fetch(digests=menu.digests)
    assert (changed.is_complete, changed.digests == menu.digests) == (True, False)


@on_one
async def test_failed_requests_are_repeated(crawl: Crawl) -> None:
    kinds = (FaultKind.UNAVAILABLE, FaultKind.CUT, FaultKind.RATE_LIMITED)
    crawl.upstream.set_failures(FaultDial(failure_rate=0.4, weights=dict.fromkeys(kinds, 1.0), retry_after_seconds=0))

    assert (await crawl.fetch()).is_complete


@on_one
async def test_forbidden_store_is_blocked(crawl: Crawl) -> None:
    crawl.upstream.wall_off(crawl.address.platform_store_id)

    with pytest.raises(Blocked):
        await crawl.fetch()


@on_one
async def test_only_an_unreadable_record_is_refused(crawl: Crawl) -> None:
    crawl.upstream.rewrite(lambda answer: Answer(200, answer.body.replace(b'"name":"', b'"name":NaN,"x":"', 1)))

    menu = await crawl.fetch()
    read = crawl.platform.read(menu.document())
    assert (len(read.refused), len(read.products) + len(read.refused)) == (len(menu.pages), menu.total)


@on_one
@pytest.mark.parametrize(
    ("old", "new", "error"),
    [(b'"id":', b'"key":', SchemaDrift), (b'"data":', b'"items":', SchemaDrift), (b"", b"", Truncated)],
)
async def test_changed_form_and_cut_menus_are_failures(
    crawl: Crawl, old: bytes, new: bytes, error: type[Exception]
) -> None:
    crawl.upstream.rewrite(lambda answer: Answer(200, answer.body.replace(old, new) if old else _cut(answer.body)))

    with pytest.raises(error):
        await crawl.fetch()


def _cut(body: bytes) -> bytes:
    document = msgspec.json.decode(body)
    return msgspec.json.encode({**document, "data": document["data"][:1]})
