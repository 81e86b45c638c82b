"""A store object of the platform, group by group."""

from __future__ import annotations

from typing import Any

import pytest
from storecrawl.platforms.dutchie.operations import STORES
from storecrawl.platforms.dutchie.records import stores_of
from storecrawl.platforms.dutchie.store_objects import read_stores

ROW: dict[str, Any] = {
    "id": "605b64fa3da35500d1dd9d05",
    "name": " Green  Door &amp; Sons ",
    "cName": "Green-Door-Mesa",
    "chain": "chain-3",
    "chainName": "Green Door",
    "status": "open",
    "address": "12 Elm St, Mesa, AZ 85201",
    "fullName": "Green Door, 12 Elm St, Mesa, AZ 85201",
    "location": {
        "ln1": "12 Elm St",
        "ln2": None,
        "city": "Mesa",
        "state": "AZ",
        "zipcode": "85201",
        "country": "United States",
        "geometry": {"coordinates": [-111.83, 33.41]},
    },
    "timezone": "America/Phoenix",
    "distance": None,
    "phone": "555-0100",
    "email": "hello@green-door.test",
    "medicalDispensary": True,
    "recDispensary": False,
    "medicalOnly": True,
    "tier": 2,
    "activeCategories": ["Flower"],
    "hasMenuIntegration": True,
    "menuIntegration": {"live": True, "adapter": "till", "lastSyncAt": "2026-05-01T00:00:00Z"},
    "salesTax": 8.875,
    "offerDelivery": False,
    "orderTypesConfig": {"delivery": {"enabled": False}},
    "enabledOrderTypes": ["pickup"],
    "deliveryInfo": {"withinBounds": None, "fee": None, "minimum": None, "feeType": None},
    "hoursSettings": {"Monday": {"active": True, "start": "9:00 AM", "end": "9:00 PM"}},
    "specialHours": [],
    "embeddedMenuUrl": "https://menus.example/embedded-menu/Green-Door-Mesa",
    "menuUrl": None,
    "logoImage": "https://images.example/logo",
    "createdAt": "1758030118081",
    "updatedAt": "2026-05-01T00:00:00Z",
}


def test_complete_row_is_typed_and_preserved() -> None:
    [store] = stores_of(STORES, [ROW])

    assert (store.id, store.slug, store.chain_name, store.status) == (ROW["id"], ROW["cName"], "Green Door", "open")
    assert (store.location.city, store.longitude, store.latitude) == ("Mesa", -111.83, 33.41)
    assert (store.pricing_types, store.timezone, store.logo_url) == (("med",), "America/Phoenix", ROW["logoImage"])
    assert store.raw == ROW


def test_complete_row_becomes_a_discovered_location() -> None:
    [store] = read_stores([ROW])

    assert (store.platform_store_id, store.name, store.slug) == (ROW["id"], "Green Door & Sons", "Green-Door-Mesa")
    assert (store.address, store.city, store.state, store.postal_code) == ("12 Elm St", "Mesa", "AZ", "85201")
    assert (store.longitude, store.latitude, store.medical, store.recreational) == (-111.83, 33.41, True, False)
    assert store.menu_url == ROW["embeddedMenuUrl"]
    assert store.raw == ROW


@pytest.mark.parametrize("missing", sorted(ROW.keys() - {"id", "name", "cName"}))
def test_all_fields_except_the_identity_are_optional(missing: str) -> None:
    row = {name: value for name, value in ROW.items() if name != missing}

    assert stores_of(STORES, [row])[0].id == read_stores([row])[0].platform_store_id == ROW["id"]


@pytest.mark.parametrize("platform_id", ["acMFAfbvyQ9CKsrNy", "605b64fa3da35500d1dd9d05"])
def test_ids_of_both_forms_are_valid(platform_id: str) -> None:
    """Older stores have ids of 17 letters and digits, others of 24 hex digits."""
    assert read_stores([{**ROW, "id": platform_id}])[0].platform_store_id == platform_id


@pytest.mark.parametrize("coordinates", [[33.41, -111.83], [0], None, ["x", "y"], [-200, 10]])
def test_impossible_coordinates_are_dropped(coordinates: object) -> None:
    [store] = read_stores([{**ROW, "location": {"geometry": {"coordinates": coordinates}}}])

    assert (store.latitude, store.longitude) == (None, None)
