"""Pages of discovery: states and cities, locations, and decisions."""

from __future__ import annotations

from typing import Any

import httpx2

LOCATIONS = "/discovery/locations"
YES = {"confirmed": "true"}


async def test_overview_shows_counts_by_state_and_failures(http: httpx2.AsyncClient, shop: Any) -> None:
    shop.city(name="Mesa", crawled_at="now", stores_found=3)
    shop.city(name="Phoenix", failures=2, failed_at="now", error="HTTP 503")
    shop.location(status="needs_investigation", because="no answer", decided_by="task 1", decided_at="now")

    whole, arizona = (await http.get("/discovery")).text, (await http.get("/discovery?state=az")).text

    for text in ("Arizona", "HTTP 503", 'href="/discovery?state=AZ"', "status=needs_investigation"):
        assert text in whole
    assert (">Mesa<" in whole, ">Mesa<" in arizona, "Discovery in Arizona" in arizona) == (False, True, True)


async def test_search_requested_twice_is_enqueued_once(http: httpx2.AsyncClient, shop: Any) -> None:
    for _ in range(2):
        assert (await http.post("/discovery/search?state=az")).status_code == 303

    [task] = shop.tasks("store_discovery")
    assert task["payload"] == {"states": ["AZ"]}


async def test_locations_are_filtered_by_the_url(http: httpx2.AsyncClient, shop: Any) -> None:
    shop.location(name="Sun", city="Mesa")
    shop.location(name="Moon", state="NV")

    found = (await http.get(f"{LOCATIONS}?text=&status=discovered&state=nv&city=")).text

    assert ("Moon" in found, ">Sun<" in found) == (True, False)
    assert "No location matches." in (await http.get(f"{LOCATIONS}?city=Reno")).text


async def test_location_shows_findings_and_decisions(http: httpx2.AsyncClient, shop: Any) -> None:
    location = shop.location(
        name="Sun", raw='{"cName": "sun-mesa"}', status="rejected", because="it has no menu on the platform",
        problems=["it has no menu on the platform"], decided_by="task 41", decided_at="now",
    )  # fmt: skip

    page = (await http.get(f"{LOCATIONS}/{location}")).text

    for text in ("it has no menu on the platform", "task 41", "sun-mesa", "Undo rejection"):
        assert text in page
    assert "Create a store" not in page


async def test_decisions_can_be_made_with_forms(http: httpx2.AsyncClient, shop: Any) -> None:
    created, linked, rejected = (shop.location() for _ in range(3))
    store = shop.store()

    await http.post(f"{LOCATIONS}/{created}/verify-create", data=YES)
    await http.post(f"{LOCATIONS}/{linked}/verify-link", data={**YES, "store_id": str(store), "because": "same door"})
    await http.post(f"{LOCATIONS}/{rejected}/reject", data={**YES, "because": "a warehouse"})

    statuses = [
        (await http.get(f"/api/discovery/platforms/dt/locations/{id_}")).json() for id_ in (created, linked, rejected)
    ]
    assert [each["status"] for each in statuses] == ["verified", "linked", "rejected"]
    assert [each["because"] for each in statuses[1:]] == ["same door", "a warehouse"]
    assert len(shop.tasks("product_discovery")) == 1


async def test_rejected_decision_is_reported_on_the_page(http: httpx2.AsyncClient, shop: Any) -> None:
    location = shop.location()
    await http.post(f"{LOCATIONS}/{location}/reject", data={**YES, "because": "a warehouse"})

    answer = await http.post(
        f"{LOCATIONS}/{location}/verify-create", data=YES, headers={"referer": f"http://test{LOCATIONS}/{location}"}
    )
    page = (await http.get(answer.headers["location"])).text

    assert answer.status_code == 303
    assert f"Location {location} is rejected: it cannot be verified." in page


async def test_missing_location_is_not_found(http: httpx2.AsyncClient) -> None:
    assert (await http.get(f"{LOCATIONS}/404")).status_code == 404
