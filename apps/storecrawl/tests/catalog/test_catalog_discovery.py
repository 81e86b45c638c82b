"""From the platform's store objects to due stores."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from storecrawl.catalog import DiscoveredStore, stores_due
from storecrawl.catalog.discovery import US_STATES, discover_locations, promote_locations, reject_location
from storecrawl.platforms.dutchie import Dutchie
from storecrawl.platforms.dutchie.store_objects import read_stores

pytestmark = pytest.mark.asyncio

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)

NewStore = Callable[..., Awaitable[int]]
Query = Callable[..., Awaitable[list[dict[str, Any]]]]


def _store(number: int, **changes: Any) -> DiscoveredStore:
    values = {
        "platform": "dutchie",
        "platform_store_id": f"{number:024x}",
        "name": f"Store {number}",
        "slug": f"store-{number}",
        "state": "AZ",
        **changes,
    }
    return DiscoveredStore(**values)


async def _discover(connection: psycopg.AsyncConnection, *stores: DiscoveredStore) -> list[int]:
    await discover_locations(connection, stores)
    return await promote_locations(
        connection, Dutchie.spec.rules, [store.platform_store_id for store in stores], covered=US_STATES, by="task 1"
    )


async def test_store_object_is_read_with_its_location() -> None:
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
    [store] = read_stores([{"id": "a", "location": {"geometry": {"coordinates": coordinates}}}])

    assert (store.latitude, store.longitude) == (None, None)


async def test_valid_locations_are_promoted_and_the_new_store_ids_returned(
    connection: psycopg.AsyncConnection, query: Query
) -> None:
    new_ids = await _discover(connection, _store(1), _store(2), _store(3, platform_store_id="acMFAfbvyQ9CKsrNy"))

    assert new_ids == [row["id"] for row in await query("select id from storecrawl.stores order by id")]
    assert len(new_ids) == 3
    statuses = await query("select status::text from storecrawl.locations")
    assert {row["status"] for row in statuses} == {"verified"}


async def test_second_discovery_promotes_nothing_again(connection: psycopg.AsyncConnection) -> None:
    assert [len(await _discover(connection, _store(1))) for _ in range(2)] == [1, 0]


async def test_existing_store_is_linked(connection: psycopg.AsyncConnection, query: Query) -> None:
    store = _store(1)
    await query(
        "insert into storecrawl.stores (platform, platform_store_id, name) values ('dutchie', %s, 'Known') returning id",
        store.platform_store_id,
    )

    assert await _discover(connection, store) == []
    [row] = await query("select status::text, because, decided_by from storecrawl.locations")
    assert tuple(row.values()) == ("linked", "it meets every rule", "task 1")


@pytest.mark.parametrize(
    ("store", "reason"),
    [
        (_store(1, platform_store_id="KaleafaBeaverton"), "its id does not have the form of the platform's ids"),
        (_store(1, platform_store_id="superette"), "its id does not have the form of the platform's ids"),
        (_store(1, name=None), "it has no name"),
        (_store(1, slug=None), "it has no usable slug"),
        (_store(1, slug="a b"), "it has no usable slug"),
        (_store(1, state=None), "it has no state"),
        (_store(1, state="ON"), "it is in ON, which is not covered"),
        (_store(1, raw={"status": "Closed"}), "its status on the platform is closed"),
        (_store(1, raw={"activeCategories": []}), "it has no menu on the platform"),
        (_store(1, name=None, state=None), "it has no name; it has no state"),
    ],
)
async def test_invalid_location_is_rejected_with_its_problems(
    connection: psycopg.AsyncConnection, query: Query, store: DiscoveredStore, reason: str
) -> None:
    assert await _discover(connection, store) == []

    [row] = await query("select status::text, because, problems, store_id from storecrawl.locations")
    assert tuple(row.values()) == ("rejected", reason, reason.split("; "), None)


async def test_state_can_be_written_in_full(connection: psycopg.AsyncConnection) -> None:
    assert len(await _discover(connection, _store(1, state="New Mexico"))) == 1


async def test_rejected_location_is_promoted_once_it_is_valid(
    connection: psycopg.AsyncConnection, query: Query
) -> None:
    await _discover(connection, _store(1, slug=None))

    assert len(await _discover(connection, _store(1))) == 1
    log = await query("select was::text, became::text from storecrawl.promotions order by id")
    assert [tuple(row.values()) for row in log] == [
        ("discovered", "rejected"), ("rejected", "discovered"), ("discovered", "verified"),
    ]  # fmt: skip


async def test_repeated_rejection_is_logged_once(connection: psycopg.AsyncConnection, query: Query) -> None:
    for _ in range(3):
        await _discover(connection, _store(1, slug=None))

    assert len(await query("select from storecrawl.promotions")) == 1


async def test_location_rejected_by_a_person_stays_rejected(connection: psycopg.AsyncConnection, query: Query) -> None:
    await discover_locations(connection, [_store(1)])
    [found] = await query("select id from storecrawl.locations")
    await reject_location(connection, found["id"], by="ann", reason="closed")

    assert await _discover(connection, _store(1)) == []


async def test_store_is_updated_by_a_later_discovery(connection: psycopg.AsyncConnection, query: Query) -> None:
    await _discover(connection, _store(1, city="Old", state="PA"))

    report = await discover_locations(connection, [_store(1, name="Renamed", city="New", state=None)])

    assert (report.new, report.known) == (0, 1)
    [row] = await query("select name, city, state from storecrawl.stores")
    assert tuple(row.values()) == ("Renamed", "New", "PA")


async def test_locations_missing_from_a_discovery_stay_unchanged(
    connection: psycopg.AsyncConnection, query: Query
) -> None:
    await _discover(connection, _store(1), _store(2))

    await _discover(connection, _store(2))
    await _discover(connection)

    statuses = await query("select status::text from storecrawl.locations")
    assert [row["status"] for row in statuses] == ["verified", "verified"]


async def test_hostile_text_in_a_store_object_is_stored_safely(
    connection: psycopg.AsyncConnection,
) -> None:
    place = {"state": "AZ"}
    extra = ["\ud800", float("nan"), 10**400]
    record = {"id": f"{1:024x}", "name": "a\x00b", "cName": "s", "location": place, "extra": extra}

    assert len(await _discover(connection, *read_stores([record, record]))) == 1


async def test_store_is_due_after_its_interval(connection: psycopg.AsyncConnection, new_store: NewStore) -> None:
    never = await new_store()
    longest = await new_store(last_fetch_at=NOW - 9 * HOUR)
    just_due = await new_store(last_fetch_at=NOW - 4 * HOUR)
    await new_store(last_fetch_at=NOW - 3 * HOUR)

    due = await stores_due(connection, 4 * HOUR, now=NOW)

    assert [store.id for store in due] == [never, longest, just_due]


async def test_only_enabled_stores_of_the_state_are_due(
    connection: psycopg.AsyncConnection, new_store: NewStore
) -> None:
    store_ids = [await new_store("PA"), await new_store("PA")]
    await new_store("NJ")
    await new_store("PA", crawl_enabled=False)

    assert [store.id for store in await stores_due(connection, HOUR, state="PA")] == store_ids
    assert [store.id for store in await stores_due(connection, HOUR, state="PA", limit=1)] == store_ids[:1]


async def test_store_without_a_platform_id_is_never_due(connection: psycopg.AsyncConnection, query: Query) -> None:
    await query("insert into storecrawl.stores (name) values ('No id yet') returning id")

    assert await stores_due(connection, timedelta(0)) == []
