"""Stores and cities in the upstream's responses."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from storecrawl.platforms.dutchie.operations import Operation
from storecrawl.platforms.errors import SchemaDrift

R = TypeVar("R", bound=msgspec.Struct)


class Geometry(msgspec.Struct, frozen=True, kw_only=True):
    """A point: longitude, then latitude."""

    coordinates: tuple[float, float] | None = None


class Location(msgspec.Struct, frozen=True, kw_only=True):
    """The location of a store."""

    ln1: str | None = None
    ln2: str | None = None
    city: str | None = None
    state: str | None = None
    zipcode: str | None = None
    country: str | None = None
    geometry: Geometry | None = None


class City(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename={"store_count": "dispensaryCount"},
):
    """A city of a state, with the number of its active stores; `raw` is the upstream's object."""

    name: str
    state: str
    slug: str | None = None
    country: str | None = None
    store_count: int | None = None
    geometry: Geometry | None = None
    raw: dict[str, Any] = {}


class PlatformStore(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename={
        "slug": "cName",
        "chain_name": "chainName",
        "serves_patients": "medicalDispensary",
        "serves_adults": "recDispensary",
        "menu_url": "menuUrl",
        "embedded_menu_url": "embeddedMenuUrl",
        "logo_url": "logoImage",
    },
):
    """A store; `raw` is the upstream's object."""

    id: str
    name: str
    slug: str
    chain_name: str | None = None
    status: str | None = None
    address: str | None = None
    location: Location = Location()
    timezone: str | None = None
    phone: str | None = None
    email: str | None = None
    serves_patients: bool | None = None
    serves_adults: bool | None = None
    menu_url: str | None = None
    embedded_menu_url: str | None = None
    logo_url: str | None = None
    raw: dict[str, Any] = {}

    @property
    def pricing_types(self) -> tuple[str, ...]:
        """The store's price lists: "rec", "med" or both; "rec" if unknown."""
        kinds = (("rec", self.serves_adults), ("med", self.serves_patients))
        return tuple(kind for kind, is_served in kinds if is_served) or ("rec",)

    @property
    def longitude(self) -> float | None:
        return self._coordinate(0)

    @property
    def latitude(self) -> float | None:
        return self._coordinate(1)

    def _coordinate(self, axis: int) -> float | None:
        point = None if self.location.geometry is None else self.location.geometry.coordinates
        return None if point is None else point[axis]


def stores_of(operation: Operation, rows: Any) -> list[PlatformStore]:
    """Read a list of stores. Raises SchemaDrift."""
    return [msgspec.structs.replace(_record(operation, row, PlatformStore), raw=row) for row in _rows(operation, rows)]


def cities_of(operation: Operation, rows: Any) -> list[City]:
    """Read a list of cities. Raises SchemaDrift."""
    return [msgspec.structs.replace(_record(operation, row, City), raw=row) for row in _rows(operation, rows)]


def _rows(operation: Operation, rows: Any) -> list[Any]:
    if not isinstance(rows, list):
        raise SchemaDrift(operation.name, f"{operation.root!r} has no list")
    return rows


def _record(operation: Operation, row: Any, kind: type[R]) -> R:
    try:
        return msgspec.convert(row, kind)
    except msgspec.ValidationError as error:
        raise SchemaDrift(operation.name, str(error)) from error
