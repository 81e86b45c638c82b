"""The JSON of a store: one element of `filteredDispensaries`."""

from __future__ import annotations

from typing import Any

from storecrawl.demo.upstream.clock import epoch_text, iso_text
from storecrawl.demo.upstream.draws import Draw
from storecrawl.demo.upstream.places import City
from storecrawl.demo.upstream.stores import StockSource, StoreKind, WorldStore

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
IMAGES = "https://images.storecrawl.test"
MENUS = "https://menus.storecrawl.test"

Document = dict[str, Any]


def store_document(store: WorldStore, seed: int, step: int, distance: float | None = None) -> Document:
    """Return a store's document; `distance` (miles) only in a search around a point."""
    draw = Draw(seed, "store document", store.number)
    return {
        **_identity(store),
        **_place(store, draw, distance),
        **_licence(store, draw, step),
        **_orders(draw),
        **_hours(draw),
        **_links(store, draw),
        "createdAt": epoch_text(store.opened_at_step - draw.integer(6, 12_000)),
        "updatedAt": iso_text(step),
        "__typename": "Dispensary",
    }


def city_document(city: City, stores: int) -> Document:
    """Return the document of a city with the number of its open stores."""
    return {
        "name": city.name,
        "slug": city.slug,
        "state": city.state.code,
        "country": "United States",
        "dispensaryCount": stores,
        "geometry": {"coordinates": [city.longitude, city.latitude], "__typename": "Geometry"},
        "__typename": "City",
    }


def _identity(store: WorldStore) -> Document:
    return {
        "id": store.id,
        "name": store.name,
        "cName": store.slug,
        "chain": None if store.chain is None else f"chain-{store.chain}",
        "chainName": store.chain_name,
        "status": "open",
    }


def _place(store: WorldStore, draw: Draw, distance: float | None) -> Document:
    address = f"{store.street}, {store.city.name}, {store.city.state.code} {store.zip_code}"
    return {
        "address": address,
        "fullName": f"{store.name}, {address}",
        "location": {
            "ln1": store.street,
            "ln2": draw.pick((None, "", f"Suite {draw.integer(1, 40)}")),
            "city": store.city.name,
            "state": store.city.state.code,
            "zipcode": store.zip_code,
            "country": "United States",
            "geometry": {"coordinates": [store.longitude, store.latitude], "__typename": "Geometry"},
            "__typename": "Location",
        },
        "timezone": store.city.state.timezone,
        "distance": None if distance is None else round(distance, 2),
        "phone": f"555-01{draw.integer(0, 99):02d}",
        "email": f"hello@{store.slug.lower()}.test",
    }


def _licence(store: WorldStore, draw: Draw, step: int) -> Document:
    return {
        "medicalDispensary": store.kind is not StoreKind.ADULT,
        "recDispensary": store.kind is not StoreKind.MEDICAL,
        "medicalOnly": store.kind is StoreKind.MEDICAL,
        "tier": draw.integer(1, 3),
        "activeCategories": ["Flower", "Vaporizers", "Edible", "Concentrate", "Accessories"],
        "hasMenuIntegration": store.habits.stock_source is StockSource.POS,
        "menuIntegration": _integration(store, step),
        "salesTax": draw.pick((None, 0.0, 6.0, 8.875)),
    }


def _integration(store: WorldStore, step: int) -> Document | None:
    if store.habits.stock_source is not StockSource.POS:
        return None
    return {
        "live": True,
        "adapter": "till",
        "lastSyncAt": iso_text(step),
        "__typename": "MenuIntegration",
    }


def _orders(draw: Draw) -> Document:
    delivers = draw.chance(0.35)
    return {
        "offerDelivery": delivers,
        "offerCurbsidePickup": draw.chance(0.4),
        "offerDriveThruPickup": draw.chance(0.1),
        "orderTypesConfig": {"delivery": {"enabled": delivers}, "inStorePickup": {"enabled": True}},
        "enabledOrderTypes": ["pickup", "delivery"] if delivers else ["pickup"],
        "deliveryInfo": {
            "withinBounds": None,
            "fee": draw.integer(0, 15) if delivers else None,
            "minimum": 50 if delivers else None,
            "feeType": "FIXED" if delivers else None,
            "__typename": "DeliveryInfo",
        },
    }


def _hours(draw: Draw) -> Document:
    opens, closes = f"{draw.integer(7, 10)}:00 AM", f"{draw.integer(7, 10)}:00 PM"
    hours = {day: {"active": True, "start": opens, "end": closes} for day in WEEKDAYS}
    if draw.chance(0.15):
        hours["Sunday"] = {"active": False, "start": "", "end": ""}
    return {"deliveryHours": None, "hoursSettings": hours, "specialHours": []}


def _links(store: WorldStore, draw: Draw) -> Document:
    return {
        "embeddedMenuUrl": f"{MENUS}/embedded-menu/{store.slug}",
        "embedBackUrl": draw.pick((None, "", f"https://{store.slug.lower()}.test")),
        "menuUrl": f"{MENUS}/dispensary/{store.slug}",
        "logoImage": f"{IMAGES}/{draw.object_id()}",
        "bannerImage": draw.pick((None, f"{IMAGES}/{draw.object_id()}")),
        "listImage": None,
        "googleAnalyticsID": None,
    }
