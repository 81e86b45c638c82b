"""Discovered locations and decisions about them over HTTP."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

LOCATIONS = "/api/discovery/platforms/dt/locations"


async def test_locations_are_listed_in_pages(http: httpx2.AsyncClient, shop: Any) -> None:
    ids = [shop.location() for _ in range(3)]

    first = (await http.get(f"{LOCATIONS}?limit=2")).json()
    second = (await http.get(LOCATIONS, params={"limit": 2, "cursor": first["next_cursor"]})).json()

    assert [item["id"] for item in (*first["items"], *second["items"])] == ids
    assert second["next_cursor"] is None


async def test_locations_can_be_filtered_by_status_place_and_text(http: httpx2.AsyncClient, shop: Any) -> None:
    sun = shop.location(name="Sun", city="Mesa")
    moon = shop.location(
        name="Moon", state="NV", city="Reno", status="rejected", because="closed", decided_by="ann", decided_at="now"
    )

    for question, found in {
        "status=rejected": [moon], "status=verified": [], "state=nv": [moon], "city=mesa": [sun], "text=SU": [sun],
        "text=%25": [], "state=AZ&status=discovered": [sun],
    }.items():  # fmt: skip
        items = (await http.get(f"{LOCATIONS}?{question}")).json()["items"]
        assert [item["id"] for item in items] == found, question


async def test_location_of_another_platform_is_not_found(http: httpx2.AsyncClient, shop: Any) -> None:
    elsewhere = shop.location(platform="weedmaps")

    assert (await http.get(LOCATIONS)).json() == {"items": [], "next_cursor": None}
    assert (await http.get(f"{LOCATIONS}/{elsewhere}")).json()["type"] == "urn:rolecall:location-not-found"
    assert (await http.post(f"{LOCATIONS}/{elsewhere}/reject", json={"because": "x"})).status_code == 404


async def test_unknown_platform_returns_a_problem_document(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/api/discovery/platforms/xx/locations")

    assert (answer.status_code, answer.json()["type"]) == (404, "urn:rolecall:platform-not-found")


async def test_location_becomes_a_store_and_is_crawled(http: httpx2.AsyncClient, shop: Any) -> None:
    location = shop.location(name="Sun", slug=None, state=None)

    decided = (await http.post(f"{LOCATIONS}/{location}/verify-create", json={"because": "I was there"})).json()

    [task] = shop.tasks("product_discovery")
    assert (decided["store_created"], decided["task_id"]) == (True, task["id"])
    assert (decided["location"]["status"], decided["location"]["because"]) == ("verified", "I was there")
    assert task["payload"] == {"store_id": decided["location"]["store_id"]}


async def test_location_is_linked_to_a_store_which_takes_its_id_if_missing(http: httpx2.AsyncClient, shop: Any) -> None:
    without, with_id = shop.store(platform_store_id=None), shop.store()
    first, second = shop.location(platform_store_id="a" * 24), shop.location()

    taken = (await http.post(f"{LOCATIONS}/{first}/verify-link", json={"store_id": without})).json()
    kept = (await http.post(f"{LOCATIONS}/{second}/verify-link", json={"store_id": with_id})).json()

    assert (taken["location"]["status"], taken["location"]["store_id"]) == ("linked", without)
    assert (await http.get(f"/api/stores/{without}")).json()["platform_store_id"] == "a" * 24
    assert (await http.get(f"/api/stores/{with_id}")).json()["platform_store_id"] == f"p{with_id}"
    assert ([task["id"] for task in shop.tasks("payload_fetch")], kept["task_id"]) == ([taken["task_id"]], None)


async def test_rejection_can_be_undone(http: httpx2.AsyncClient, shop: Any) -> None:
    location = shop.location()

    await http.post(f"{LOCATIONS}/{location}/reject", json={"because": "a warehouse"})
    await http.post(f"{LOCATIONS}/{location}/unreject", json={})

    shown = (await http.get(f"{LOCATIONS}/{location}")).json()
    assert shown["status"] == "discovered"
    log = [(line["was"], line["became"], line["because"]) for line in shown["promotions"]]
    assert log == [
        ("rejected", "discovered", "decided by a person"), ("discovered", "rejected", "a warehouse"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("verify-create", "reject"),
        ("verify-create", "verify-create"),
        ("reject", "verify-create"),
        ("reject", "reject"),
    ],
)
async def test_decision_that_the_status_does_not_allow_is_rejected(
    http: httpx2.AsyncClient, shop: Any, first: str, then: str
) -> None:
    location = shop.location()
    assert (await http.post(f"{LOCATIONS}/{location}/{first}", json={"because": "x"})).status_code == 200

    answer = await http.post(f"{LOCATIONS}/{location}/{then}", json={"because": "y"})

    assert (answer.status_code, answer.json()["type"]) == (409, "urn:rolecall:location-refused")


async def test_location_cannot_be_linked_to_a_store_with_another_id(http: httpx2.AsyncClient, shop: Any) -> None:
    owner, other = shop.store(platform_store_id="b" * 24), shop.store()
    location = shop.location(platform_store_id="b" * 24)

    refused = await http.post(f"{LOCATIONS}/{location}/verify-link", json={"store_id": other})
    unknown = await http.post(f"{LOCATIONS}/{location}/verify-link", json={"store_id": 404})

    assert (refused.status_code, unknown.status_code) == (409, 404)
    assert f"store {owner}" in refused.json()["detail"]


async def test_every_decision_is_recorded_in_the_audit_log(http: httpx2.AsyncClient, shop: Any) -> None:
    location = shop.location()
    await http.post(f"{LOCATIONS}/{location}/reject", json={"because": "closed"})
    await http.post(f"{LOCATIONS}/{location}/reject", json={"because": "refused, so that nothing was done"})

    events = (await http.get("/api/audit?action=locations.reject")).json()

    items = events["items"] if isinstance(events, dict) else events
    assert [event["detail"] for event in items] == [{"location_id": location, "because": "closed"}]
    shown = (await http.get(f"{LOCATIONS}/{location}")).json()
    assert shown["decided_by"] == items[0]["actor"]


async def test_states_and_cities_show_their_stores_and_failures(http: httpx2.AsyncClient, shop: Any) -> None:
    shop.city(name="Mesa", crawled_at="now", stores_found=3, stores_told=4)
    shop.city(name="Phoenix", failures=2, failed_at="now", error="HTTP 503")
    shop.location()

    [state] = (await http.get("/api/discovery/states")).json()
    cities = (await http.get("/api/discovery/cities?limit=1")).json()
    following = (await http.get(f"/api/discovery/cities?limit=1&cursor={cities['next_cursor']}")).json()
    failing = (await http.get("/api/discovery/cities?failing=true&state=az")).json()["items"]

    counts = ("code", "cities", "cities_crawled", "cities_failing", "locations", "promoted")
    assert [state[name] for name in counts] == ["AZ", 2, 1, 1, 1, 0]
    assert [city["name"] for city in (*cities["items"], *following["items"])] == ["Mesa", "Phoenix"]
    assert [(city["name"], city["error"]) for city in failing] == [("Phoenix", "HTTP 503")]


async def test_invalid_parameters_are_rejected(http: httpx2.AsyncClient, shop: Any) -> None:
    location = shop.location()
    for question in ("status=gone", "state=A", "cursor=x", "limit=0", "text="):
        assert (await http.get(f"{LOCATIONS}?{question}")).status_code == 422, question
    for path, body in {
        "reject": {},
        "verify-link": {"store_id": "7"},
        "unreject": {"x": 1},
        "verify-create": {"because": ""},
    }.items():
        assert (await http.post(f"{LOCATIONS}/{location}/{path}", json=body)).status_code == 422, path
    assert (await http.get(f"{LOCATIONS}/404")).json()["type"] == "urn:rolecall:location-not-found"
