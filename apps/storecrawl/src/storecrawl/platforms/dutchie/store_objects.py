"""Read Dutchie's store objects for discovery."""

from __future__ import annotations

from collections.abc import Iterable

from storecrawl.catalog.normalize.records import (
    Record,
    clean_text,
    first_text,
    identifier,
    list_at,
    record_at,
    storable_json,
    web_address,
)
from storecrawl.catalog.normalize.values import decimal_of
from storecrawl.catalog.store_records import DiscoveredStore

NAME = "dutchie"
ID_LIMIT = 100
LABEL_LIMIT = 200
CLOSED = frozenset({"archived", "closed", "disabled", "inactive", "permanently_closed"})


def read_stores(records: Iterable[object]) -> list[DiscoveredStore]:
    """Return the stores in the records. Records without an id are skipped, as they cannot be distinguished."""
    stores = (read_store(record) for record in records if isinstance(record, dict))
    return [store for store in stores if store is not None]


def read_store(record: Record) -> DiscoveredStore | None:
    """Return the store of an object, or None if it has no usable id."""
    platform_store_id = identifier(record.get("id"), ID_LIMIT)
    if platform_store_id is None:
        return None
    place = record_at(record, "location")
    latitude, longitude = _coordinates(place)
    return DiscoveredStore(
        platform=NAME,
        platform_store_id=platform_store_id,
        name=clean_text(record.get("name"), LABEL_LIMIT),
        slug=clean_text(record.get("cName"), LABEL_LIMIT),
        chain=_label(record.get("chainName"), record.get("chain")),
        address=_label(place.get("ln1"), record.get("address")),
        city=_label(place.get("city"), record.get("city")),
        state=_label(place.get("state"), record.get("state")),
        postal_code=_label(place.get("zipcode"), record.get("zip")),
        country=_label(place.get("country"), record.get("country")),
        latitude=latitude,
        longitude=longitude,
        timezone=_label(record.get("timezone")),
        menu_url=web_address(first_text(record.get("menuUrl"), record.get("embeddedMenuUrl"))),
        recreational=_truth(record.get("recDispensary")),
        medical=_truth(record.get("medicalDispensary")),
        raw=storable_json(record),
    )


def _label(*values: object) -> str | None:
    return clean_text(first_text(*values), LABEL_LIMIT)


def _truth(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _coordinates(place: Record) -> tuple[float | None, float | None]:
    """Return latitude and longitude, which the source stores the other way round; None if impossible."""
    figures = [decimal_of(figure) for figure in list_at(record_at(place, "geometry"), "coordinates")]
    if len(figures) != 2:
        return None, None
    longitude, latitude = figures
    if longitude is None or latitude is None or abs(longitude) > 180 or abs(latitude) > 90:
        return None, None
    return float(latitude), float(longitude)


def problems_of_object(record: Record) -> list[str]:
    """Return the reasons, in words, why the store of an object has no menu to crawl."""
    problems = []
    # Dutchie also lists stores that only advertise there. They have no category at all.
    if (
        first_text(record.get("menuUrl"), record.get("embeddedMenuUrl")) is None
        and record.get("activeCategories") == []
    ):
        problems.append("it has no menu on the platform")
    status = str(record.get("status")).strip().lower()
    if status.replace(" ", "_") in CLOSED:
        problems.append(f"its status on the platform is {status}")
    return problems
