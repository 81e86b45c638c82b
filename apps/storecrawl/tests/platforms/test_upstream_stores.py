"""Stores and cities are found by name, id and place."""

from __future__ import annotations

import pytest
from storecrawl.demo.upstream import LocalUpstream
from storecrawl.demo.upstream.directory import AreaSearch, Nearby, StoreDirectory
from storecrawl.demo.upstream.options import UpstreamOptions
from storecrawl.platforms.dutchie import UpstreamClient
from storecrawl.platforms.errors import UnknownStore

MANY = StoreDirectory(UpstreamOptions(stores=300)).open_until(0)


async def test_store_is_found_by_its_slug_and_by_its_id(client: UpstreamClient) -> None:
    for store in await client.stores():
        assert (await client.store(store.slug)).id == store.id
        assert (await client.store(store.id)).slug == store.slug


async def test_nonexistent_store_is_unknown(client: UpstreamClient) -> None:
    with pytest.raises(UnknownStore, match="no-such-store") as raised:
        await client.store("no-such-store")

    assert not raised.value.retryable


async def test_cities_of_all_states_account_for_every_store(client: UpstreamClient) -> None:
    stores = await client.stores()
    states = {store.location.state or "" for store in stores}

    cities = [city for state in sorted(states) for city in await client.cities(state)]

    assert sum(city.store_count or 0 for city in cities) == len(stores)


async def test_stores_of_a_city_are_located_in_it(client: UpstreamClient) -> None:
    anywhere = (await client.stores())[0].location

    found = await client.stores(state=anywhere.state, city=anywhere.city)

    assert found
    assert {(store.location.state, store.location.city) for store in found} == {(anywhere.state, anywhere.city)}


async def test_state_without_stores_has_neither_cities_nor_stores(client: UpstreamClient) -> None:
    assert (await client.cities("ZZ"), await client.stores(state="ZZ")) == ([], [])


async def test_search_finds_stores_by_a_part_of_their_name(client: UpstreamClient) -> None:
    wanted = (await client.stores())[2]

    found = await client.search(wanted.name[1:].upper(), limit=20)

    assert wanted.id in {store.id for store in found}


async def test_search_returns_no_more_than_its_limit(client: UpstreamClient) -> None:
    assert len(await client.search("", limit=3)) == 3


async def test_store_preserves_all_upstream_fields(client: UpstreamClient) -> None:
    store = (await client.stores())[0]

    assert store.raw["cName"] == store.slug
    assert store.raw.keys() >= {"hoursSettings", "deliveryInfo", "menuIntegration", "salesTax", "createdAt"}


async def test_new_stores_open_over_time(upstream: LocalUpstream, client: UpstreamClient) -> None:
    before = {store.id for store in await client.stores()}
    upstream.advance(3)

    after = {store.id for store in await client.stores()}

    assert before < after
    assert len(after - before) == 3


def test_slugs_and_ids_are_unique() -> None:
    assert len({store.slug for store in MANY}) == len({store.id for store in MANY}) == len(MANY)


def test_ids_have_one_of_the_two_known_forms() -> None:
    lengths = [len(store.id) for store in MANY]

    assert set(lengths) == {17, 24}
    assert 0.05 < lengths.count(17) / len(lengths) < 0.25


def test_stores_serve_patients_adults_or_both() -> None:
    kinds = [store.kind for store in MANY]

    assert all(kinds.count(kind) > 10 for kind in set(kinds))
    assert len(set(kinds)) == 3


def test_substantial_share_of_the_stores_belongs_to_chains() -> None:
    chained = [store.chain for store in MANY if store.chain is not None]

    assert 0.35 < len(chained) / len(MANY) < 0.55
    assert max(chained.count(chain) for chain in set(chained)) >= 5


def test_search_around_a_point_finds_only_nearby_stores() -> None:
    directory = StoreDirectory(UpstreamOptions(stores=300))
    phoenix = Nearby(latitude=33.448, longitude=-112.074, miles=30)

    found = directory.search(AreaSearch(near=phoenix), 0)

    assert {store.city.state.code for store in found} == {"AZ"}
    assert "Flagstaff" not in {store.city.name for store in found}
