"""The contract of a platform as tests: a subclass with a `world` fixture runs them against a local server.

class TestCorner(PlatformConformance):
@pytest.fixture
async def world(self) -> AsyncIterator[PlatformWorld]:
async with serve_corner() as url:
yield PlatformWorld(platform=Corner, upstream=url, area=Area(state="AZ"), menus={"1": {"a", "b"}})
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from storecrawl.catalog.normalize import NotAMenu
from storecrawl.catalog.store_records import DiscoveredStore
from storecrawl.egress import Egress
from storecrawl.platforms.access import Access
from storecrawl.platforms.errors import NoEntryPoint, UnknownStore, UpstreamFailure
from storecrawl.platforms.options import HttpOptions
from storecrawl.platforms.protocol import Area, FetchedMenu, Platform, StoreAddress
from storecrawl.platforms.raw_pages import RawPage, read_raw_pages, write_raw_pages

QUICK = HttpOptions(retries=1, backoff=0.001, page_pause=0.0, timeout=10.0)
NOWHERE = "http://127.0.0.1:9"
NAME = re.compile(r"[a-z][a-z0-9]{0,19}")
UNKNOWN_NAME = "no-store-has-this-name"
NO_ENTRY = "two words?"
OTHER_DOCUMENTS: Sequence[object] = (None, 1, "text", {}, {"message": "no"}, {"stores": [{"name": "no menu"}]})


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformWorld:
    """A local server that answers like the platform, and what it offers.

    `menus` are the ids of the products that the stores of `area` offer, by the stores' ids. `unknown_id` has the form
    of an id, but no store. `own` are values of the platform's own settings.
    """

    platform: type[Platform]
    upstream: str
    area: Area
    menus: Mapping[str, AbstractSet[str]]
    unknown_id: str
    own: Mapping[str, Any] = field(default_factory=dict)

    @asynccontextmanager
    async def opened(self, upstream: str | None = None) -> AsyncIterator[Platform]:
        """Open the platform without limits, at its server or elsewhere."""
        async with Egress() as egress:
            yield self.platform(Access(upstream=upstream or self.upstream, egress=egress, http=QUICK, own=self.own))


class PlatformConformance:
    """Tests of the contract. A subclass gives the fixture `world`."""

    def test_spec_names_the_platform(self, world: PlatformWorld) -> None:
        spec = world.platform.spec

        assert NAME.fullmatch(spec.name)
        assert spec.title
        assert all(spec.rules.store_id.fullmatch(store_id) for store_id in [*world.menus, world.unknown_id])
        assert spec.rules.store_id.fullmatch("") is None

    async def test_check_fails_without_the_platform(self, world: PlatformWorld) -> None:
        async with world.opened() as platform:
            await platform.check()
        async with world.opened(NOWHERE) as platform:
            with raising(UpstreamFailure):
                await platform.check()

    async def test_discovery_finds_every_store_and_its_rules_accept_them(self, world: PlatformWorld) -> None:
        rules = world.platform.spec.rules

        found = await stores_of(world)

        assert {store.platform_store_id for store in found} == set(world.menus)
        for store in found:
            assert (store.platform, bool(store.name), bool(store.slug)) == (rules.platform, True, True)
            assert store.state == world.area.state
            assert isinstance(store.raw, dict)
            assert rules.problems_of_object(store.raw) == []

    async def test_entry_points_lead_to_their_store(self, world: PlatformWorld) -> None:
        [first, *_] = await stores_of(world)
        async with world.opened() as platform:
            by_id = await platform.resolve(first.platform_store_id)
            by_slug = await platform.resolve(str(first.slug))

        assert by_id.store.platform_store_id == by_slug.store.platform_store_id == first.platform_store_id
        assert world.platform.entry_name(str(first.slug)) == first.slug
        assert by_id.way

    async def test_unknown_entry_points_and_other_texts_have_different_errors(self, world: PlatformWorld) -> None:
        assert world.platform.entry_name(NO_ENTRY) is None
        async with world.opened() as platform:
            with raising(UnknownStore):
                await platform.resolve(UNKNOWN_NAME)
            with raising(NoEntryPoint):
                await platform.resolve(NO_ENTRY)

    async def test_menus_have_every_product(self, world: PlatformWorld) -> None:
        for address in await addresses_of(world):
            menu, _ = await fetched(world, address)
            read = world.platform.read(as_stored(menu))

            assert {product.external_id for product in read.products} == world.menus[address.platform_store_id]
            assert (read.complete, read.refused, menu.product_count) == (True, (), len(read.products))

    async def test_kept_responses_merge_to_the_same_document(self, world: PlatformWorld) -> None:
        [first, *_] = await addresses_of(world)
        menu, pages = await fetched(world, first)
        async with world.opened() as platform:
            again = platform.merge(first, list(read_raw_pages([write_raw_pages(pages)])))

        assert as_stored(again) == as_stored(menu)

    async def test_same_responses_are_no_new_menu(self, world: PlatformWorld) -> None:
        [first, *_] = await addresses_of(world)
        menu, _ = await fetched(world, first)
        async with world.opened() as platform:
            again = await platform.fetch(first, keep=ignore, digests=menu.digests)

        assert (again is None) == bool(menu.digests)

    async def test_unknown_store_has_no_menu(self, world: PlatformWorld) -> None:
        async with world.opened() as platform:
            with raising(UnknownStore):
                await platform.fetch(StoreAddress(platform_store_id=world.unknown_id, slug=UNKNOWN_NAME), keep=ignore)

    async def test_store_is_fetched_at_its_own_endpoint(self, world: PlatformWorld) -> None:
        [first, *_] = await addresses_of(world)
        elsewhere = replace(first, endpoint=world.upstream)
        async with world.opened(NOWHERE) as platform:
            menu = await platform.fetch(elsewhere, keep=ignore)
            with raising(UpstreamFailure):
                await platform.fetch(first, keep=ignore)

        assert menu is not None
        assert menu.product_count == len(world.menus[first.platform_store_id])

    def test_other_documents_are_no_menu(self, world: PlatformWorld) -> None:
        for document in OTHER_DOCUMENTS:
            with raising(NotAMenu):
                world.platform.read(document)


async def stores_of(world: PlatformWorld) -> list[DiscoveredStore]:
    """Return the stores of the world's area and of the cities that the platform names there."""
    async with world.opened() as platform:
        found = await platform.discover(world.area)
        stores = [*found.stores]
        for city in found.cities:
            stores += (await platform.discover(Area(state=world.area.state, city=city.name))).stores
        return stores


async def addresses_of(world: PlatformWorld) -> list[StoreAddress]:
    """Return the addresses of the world's stores."""
    return [
        StoreAddress(
            platform_store_id=store.platform_store_id,
            slug=store.slug,
            recreational=store.recreational,
            medical=store.medical,
        )
        for store in await stores_of(world)
    ]


async def fetched(world: PlatformWorld, address: StoreAddress) -> tuple[FetchedMenu, list[RawPage]]:
    """Fetch a menu; return it and the kept responses."""
    pages: list[RawPage] = []
    async with world.opened() as platform:
        menu = await platform.fetch(address, keep=pages.append)
    assert menu is not None, "only a fetch with digests can return None"
    assert pages, "the fetch has kept no response"
    return menu, pages


def as_stored(menu: FetchedMenu) -> Any:
    """Return the document of a menu as it is read from its payload file."""
    return msgspec.json.decode(msgspec.json.encode(menu.document()))


def ignore(_: RawPage) -> None:
    """Keep nothing."""


@contextmanager
def raising(kind: type[Exception]) -> Iterator[None]:
    """Fail unless the block raises this error."""
    try:
        yield
    except kind:
        return
    raise AssertionError(f"{kind.__name__} was not raised")
