"""Read listings of Weedmaps."""

from __future__ import annotations

from storecrawl.catalog.normalize.records import Record, storable_json, web_address
from storecrawl.catalog.store_records import DiscoveredStore
from storecrawl.platforms.store_values import id_of, label_in, point_of

NAME = "weedmaps"
LICENSES = {"recreational": (True, False), "medical": (False, True), "hybrid": (True, True)}
"""For each license, whether it allows sales to adults, and to patients."""


def read_listing(record: Record) -> DiscoveredStore | None:
    """Return the store of a listing, or None if it has no usable id."""
    wmid = id_of(record.get("wmid"))
    if wmid is None:
        return None
    recreational, medical = LICENSES.get(str(record.get("license_type")), (None, None))
    latitude, longitude = point_of(record.get("latitude"), record.get("longitude"))
    return DiscoveredStore(
        platform=NAME,
        platform_store_id=wmid,
        name=label_in(record.get("name")),
        slug=label_in(record.get("slug")),
        address=label_in(record.get("address")),
        city=label_in(record.get("city")),
        state=label_in(record.get("state")),
        postal_code=label_in(record.get("zip_code")),
        country=label_in(record.get("country")),
        latitude=latitude,
        longitude=longitude,
        timezone=label_in(record.get("timezone")),
        menu_url=web_address(record.get("web_url")),
        recreational=recreational,
        medical=medical,
        raw=storable_json(record),
    )
