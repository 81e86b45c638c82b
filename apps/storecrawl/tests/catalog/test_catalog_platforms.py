"""Ids, places and endpoints belong to a platform: two platforms may use the same id for different stores."""

from __future__ import annotations

import re

import psycopg
import pytest
from storecrawl.catalog import LocationRefused
from storecrawl.catalog.discovery import (
    US_STATES,
    NamedCity,
    SearchedArea,
    StoreRules,
    discover_locations,
    enter_cities,
    find_by_entry,
    link_location,
    list_cities,
    list_states,
    note_area_failed,
    promote_locations,
)
from storecrawl.catalog.endpoints import set_chain_endpoint, set_store_endpoint
from storecrawl.catalog.store_records import DiscoveredStore
from storecrawl.roles.store_tasks import find_store

from apps.storecrawl.tests.catalog.conftest import Query

ID = "316323"
ONE, OTHER = (StoreRules(platform=name, store_id=re.compile("[0-9]+")) for name in ("one", "other"))


async def _discover(connection: psycopg.AsyncConnection, rules: StoreRules, name: str) -> list[int]:
    store = DiscoveredStore(
        platform=rules.platform, platform_store_id=ID, name=name, slug=f"{name}-az", state="AZ", chain="Chain"
    )
    await discover_locations(connection, [store])
    return await promote_locations(connection, rules, [ID], covered=US_STATES, by="task 1")


async def test_stores_of_two_platforms_can_have_the_same_id(connection: psycopg.AsyncConnection, query: Query) -> None:
    new = [await _discover(connection, rules, name) for rules, name in ((ONE, "sun"), (OTHER, "moon"))]
    await _discover(connection, OTHER, "renamed")

    assert [len(ids) for ids in new] == [1, 1]
    stores = await query("select platform, platform_store_id, name from storecrawl.stores order by id")
    assert [tuple(row.values()) for row in stores] == [("one", ID, "sun"), ("other", ID, "renamed")]


async def test_entry_point_is_searched_on_its_platform(connection: psycopg.AsyncConnection) -> None:
    await _discover(connection, ONE, "sun")

    found = [await find_by_entry(connection, platform, ID) for platform in ("one", "other")]

    assert [location is not None for location in found] == [True, False]


async def test_location_is_not_linked_to_a_store_of_another_platform(
    connection: psycopg.AsyncConnection, query: Query
) -> None:
    [store_id] = await _discover(connection, ONE, "sun")
    await discover_locations(connection, [DiscoveredStore(platform="other", platform_store_id="2", name="moon")])
    [location] = await query("select id from storecrawl.locations where platform = 'other'")

    with pytest.raises(LocationRefused, match="is on other, and store 1 on one"):
        await link_location(connection, location["id"], store_id, by="somebody", reason="they are the same")


async def test_endpoint_of_a_store_precedes_that_of_its_chain(connection: psycopg.AsyncConnection) -> None:
    [store_id] = await _discover(connection, ONE, "sun")
    endpoints = []
    for platform, chain, own in (
        ("other", "https://a.example", None),
        ("one", "https://b.example", None),
        ("one", "https://b.example", "https://c.example"),
    ):
        await set_chain_endpoint(connection, platform, "Chain", chain)
        await set_store_endpoint(connection, store_id, own)
        store = await find_store(connection, store_id)
        endpoints.append(store and store.endpoint)

    assert endpoints == [None, "https://b.example", "https://c.example"]


async def test_each_platform_has_its_own_cities_and_failures_in_a_state(connection: psycopg.AsyncConnection) -> None:
    for platform in ("one", "other"):
        await enter_cities(connection, SearchedArea(platform=platform, state="AZ"), [NamedCity(name="Mesa")])
    await note_area_failed(connection, SearchedArea(platform="one", state="AZ", city="Mesa"), "HTTP 503")
    await note_area_failed(connection, SearchedArea(platform="other", state="AZ"), "HTTP 429")

    cities = {city.platform: city.failures for city in await list_cities(connection, state="AZ")}
    [state] = await list_states(connection)

    assert cities == {"one": 1, "other": 0}
    assert (state.cities, state.failures, state.error) == (2, 1, "HTTP 429")
