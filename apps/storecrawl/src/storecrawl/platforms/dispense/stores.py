"""Read venues of Dispense."""

from __future__ import annotations

from storecrawl.catalog.normalize.records import Record, first_text, record_at, storable_json
from storecrawl.catalog.store_records import DiscoveredStore
from storecrawl.platforms.store_values import id_of, label_in, point_of

NAME = "dispense"
MENUS = "https://menus.dispenseapp.com"


def read_venue(record: Record) -> DiscoveredStore | None:
    """Return the store of a venue, or None if it has no usable id."""
    venue_id = id_of(record.get("id"))
    if venue_id is None:
        return None
    address, is_medical = record_at(record, "address"), record.get("medicalDispensary")
    latitude, longitude = point_of(address.get("latitude"), address.get("longitude"))
    return DiscoveredStore(
        platform=NAME,
        platform_store_id=venue_id,
        name=label_in(record.get("name")),
        slug=label_in(record.get("slug")),
        address=_street(record, address),
        city=label_in(address.get("city")),
        state=label_in(address.get("administrativeArea")),
        postal_code=label_in(address.get("postalCode")),
        country=label_in(address.get("country")),
        latitude=latitude,
        longitude=longitude,
        menu_url=f"{MENUS}/{venue_id}/menu",
        medical=is_medical if isinstance(is_medical, bool) else None,
        raw=storable_json(record),
    )


def _street(record: Record, address: Record) -> str | None:
    parts = [label_in(address.get(name)) for name in ("number", "street")]
    street = " ".join(part for part in parts if part)
    return label_in(first_text(street, record.get("addressFormatted")))
