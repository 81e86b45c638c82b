"""Read the values that all platforms' stores have: ids, labels and coordinates."""

from __future__ import annotations

from storecrawl.catalog.normalize.records import clean_text, identifier
from storecrawl.catalog.normalize.values import decimal_of

ID_LIMIT = 100
LABEL_LIMIT = 200
POLE, ANTIMERIDIAN = 90, 180


def id_of(value: object) -> str | None:
    """Return an id as text, or None."""
    return identifier(value, ID_LIMIT)


def label_in(value: object) -> str | None:
    """Return a short text, or None."""
    return clean_text(value, LABEL_LIMIT)


def point_of(latitude: object, longitude: object) -> tuple[float | None, float | None]:
    """Return latitude and longitude, or None for both if they are no point on earth."""
    north, east = decimal_of(latitude), decimal_of(longitude)
    if north is None or east is None or abs(north) > POLE or abs(east) > ANTIMERIDIAN:
        return None, None
    return float(north), float(east)
