"""From the platform's store objects to stores that are due."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from storecrawl.catalog import (
    DiscoveredStore,
    discover_locations,
    promote_locations,
    read_stores,
    stores_due,
)

pytestmark = pytest.mark.asyncio

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)

NewStore = Callable[..., Awaitable[int]]
Query = Callable[..., Awaitable[list[dict[str, Any]]]]


def _store(number: int, **changes: Any) -> DiscoveredStore:
    values = {
        "platform_store_id": f"{number:024x}",
        "name": f"Store {number}",
        "slug": f"store-{number}",
        **changes,
    }
    return DiscoveredStore(**values)


async def test_a_store_object_is_read_with_its_place() -> None:
    """covers SPEC C3"""
    record = {
        "id": "621900cebbc5580e15476deb",
        "name": "Ethos &amp; Co ",
        "cName": "ethos-Harmar",
        "chain": "ethos",
        "timezone": "America/New_York",
        "recDispensary": False,
        "medicalDispensary": True,
        "menuUrl": "//example.org/menu",
        "location": {
            "ln1": "1 Main St",
            "city": "Harmar",
            "state": "PA",
            "zipcode": "15238",
            "country": "US",
            "geometry": {"coordinates": [-79.84, 40.53]},
        },
    }
    [store] = read_stores([record, {"name": "no id"}, "text"])

    assert (store.platform_store_id, store.name, store.slug) == (
        "621900cebbc5580e15476deb",
        "Ethos & Co",
        "ethos-Harmar",
    )
    assert (store.city, store.state, store.latitude, store.longitude) == ("Harmar", "PA", 40.53, -79.84)
    assert (store.recreational, store.medical, store.menu_url) == (False, True, "https://example.org/menu")


@pytest.mark.parametrize("coordinates", [None, [1], [500, 1], [1, 91], ["x", 1], {}])
async def test_impossible_coordinates_are_none(coordinates: object) -> None:
    """covers SPEC C3"""
    [store] = read_stores([{"id": "a", "location": {"geometry": {"coordinates": coordinates}}}])

    assert (store.latitude, store.longitude) == (None, None)


async def test_what_validates_is_promoted_and_its_new_ids_returned(
    connection: psycopg.AsyncConnection, query: Query
) -> None:
    """covers SPEC 001-19"""
    stores = [_store(1), _store(2), _store(3, platform_store_id="acMFAfbvyQ9CKsrNy")]
    report = await discover_locations(connection, stores)

    new_ids = await promote_locations(connection)

    assert (report.new, report.known) == (3, 0)
    assert new_ids == [row["id"] for row in await query("select id from storecrawl.stores order by id")]
    assert len(new_ids) == 3
    statuses = await query("select status::text from storecrawl.locations")
    assert {row["status"] for row in statuses} == {"verified"}


async def test_a_second_discovery_promotes_nothing_again(connection: psycopg.AsyncConnection) -> None:
    """covers SPEC 001-19"""
    for expected in (1, 0):
        await discover_locations(connection, [_store(1)])
        assert len(await promote_locations(connection)) == expected


@pytest.mark.parametrize(
    ("store", "reason"),
    [
        (_store(1, platform_store_id="KaleafaBeaverton"), "its id is not one of the platform's"),
        (_store(1, platform_store_id="superette"), "its id is not one of the platform's"),
        (_store(1, name=None), "it has no name"),
        (_store(1, slug=None), "it has no usable slug"),
        (_store(1, slug="a b"), "it has no usable slug"),
    ],
)
async def test_what_does_not_validate_is_rejected_with_its_reason(
    connection: psycopg.AsyncConnection, query: Query, store: DiscoveredStore, reason: str
) -> None:
    """covers SPEC 001-19, B14-9"""
    await discover_locations(connection, [store])

    assert await promote_locations(connection) == []
    [row] = await query("select status::text, rejected_because, needs_investigation from storecrawl.locations")
    assert tuple(row.values()) == ("rejected", reason, True)


async def test_a_rejected_location_is_promoted_once_it_validates(connection: psycopg.AsyncConnection) -> None:
    """covers SPEC 001-19"""
    await discover_locations(connection, [_store(1, slug=None)])
    await promote_locations(connection)

    await discover_locations(connection, [_store(1)])

    assert len(await promote_locations(connection)) == 1


async def test_what_a_person_rejected_stays_rejected(connection: psycopg.AsyncConnection, query: Query) -> None:
    """covers SPEC B14-5"""
    await discover_locations(connection, [_store(1)])
    await query(
        "update storecrawl.locations set status = 'rejected', rejected_because = 'closed',"
        " rejected_by_person = true returning id"
    )
    await discover_locations(connection, [_store(1)])

    assert await promote_locations(connection) == []


async def test_a_store_takes_over_what_a_later_discovery_says(
    connection: psycopg.AsyncConnection, query: Query
) -> None:
    """covers SPEC 001-19"""
    await discover_locations(connection, [_store(1, city="Old", state="PA")])
    await promote_locations(connection)

    report = await discover_locations(connection, [_store(1, name="Renamed", city="New")])

    assert (report.new, report.known) == (0, 1)
    [row] = await query("select name, city, state from storecrawl.stores")
    assert tuple(row.values()) == ("Renamed", "New", "PA")


async def test_hostile_text_in_a_store_object_is_stored_harmlessly(
    connection: psycopg.AsyncConnection,
) -> None:
    """covers RELIABILITY F65"""
    record = {"id": f"{1:024x}", "name": "a\x00b", "cName": "s", "extra": ["\ud800", float("nan"), 10**400]}

    await discover_locations(connection, read_stores([record, record]))

    assert len(await promote_locations(connection)) == 1


async def test_a_store_is_due_when_its_interval_has_passed(
    connection: psycopg.AsyncConnection, new_store: NewStore
) -> None:
    """covers SPEC C6"""
    never = await new_store()
    longest = await new_store(last_fetch_at=NOW - 9 * HOUR)
    just_due = await new_store(last_fetch_at=NOW - 4 * HOUR)
    await new_store(last_fetch_at=NOW - 3 * HOUR)

    due = await stores_due(connection, 4 * HOUR, now=NOW)

    assert [store.id for store in due] == [never, longest, just_due]


async def test_only_enabled_stores_of_the_state_are_due(
    connection: psycopg.AsyncConnection, new_store: NewStore
) -> None:
    """covers SPEC C6"""
    wanted = [await new_store("PA"), await new_store("PA")]
    await new_store("NJ")
    await new_store("PA", crawl_enabled=False)

    assert [store.id for store in await stores_due(connection, HOUR, state="PA")] == wanted
    assert [store.id for store in await stores_due(connection, HOUR, state="PA", limit=1)] == wanted[:1]


async def test_a_store_without_a_platform_id_is_never_due(connection: psycopg.AsyncConnection, query: Query) -> None:
    """covers SPEC C6"""
    await query("insert into storecrawl.stores (name) values ('No id yet') returning id")

    assert await stores_due(connection, timedelta(0)) == []
