"""The places of the generated stores: real states and cities, and what each state's law lets a store sell."""

from __future__ import annotations

import msgspec

from storecrawl.demo.upstream.draws import WeightedValues


class State(msgspec.Struct, frozen=True, kw_only=True):
    """A state and the share of its stores that serve only patients or only adults."""

    code: str
    timezone: str
    zip_prefix: str
    medical_only: float
    adult_only: float


class City(msgspec.Struct, frozen=True, kw_only=True):
    """A city and the location of its first stores."""

    name: str
    state: State
    latitude: float
    longitude: float

    @property
    def slug(self) -> str:
        return self.name.lower().replace(".", "").replace(" ", "-")


def _state(code: str, timezone: str, zip_prefix: str, medical_only: float, adult_only: float) -> State:
    return State(code=code, timezone=timezone, zip_prefix=zip_prefix, medical_only=medical_only, adult_only=adult_only)


def _cities(state: State, *places: tuple[str, float, float]) -> tuple[City, ...]:
    return tuple(City(name=name, state=state, latitude=lat, longitude=lng) for name, lat, lng in places)


CITIES: tuple[City, ...] = (
    *_cities(
        _state("AZ", "America/Phoenix", "85", 0.05, 0.15),
        ("Phoenix", 33.448, -112.074),
        ("Tucson", 32.222, -110.975),
        ("Tempe", 33.425, -111.940),
        ("Mesa", 33.415, -111.831),
        ("Flagstaff", 35.198, -111.651),
    ),
    *_cities(
        _state("CO", "America/Denver", "80", 0.10, 0.30),
        ("Denver", 39.739, -104.990),
        ("Boulder", 40.015, -105.271),
        ("Fort Collins", 40.585, -105.084),
    ),
    *_cities(
        _state("IL", "America/Chicago", "60", 0.05, 0.35),
        ("Chicago", 41.878, -87.630),
        ("Naperville", 41.751, -88.153),
        ("Rockford", 42.271, -89.094),
    ),
    *_cities(
        _state("MA", "America/New_York", "01", 0.05, 0.40),
        ("Boston", 42.360, -71.059),
        ("Worcester", 42.262, -71.802),
        ("Salem", 42.519, -70.897),
    ),
    *_cities(
        _state("MI", "America/Detroit", "48", 0.08, 0.30),
        ("Detroit", 42.331, -83.046),
        ("Ann Arbor", 42.281, -83.743),
        ("Grand Rapids", 42.963, -85.668),
        ("Lansing", 42.733, -84.556),
    ),
    *_cities(
        _state("NJ", "America/New_York", "07", 0.10, 0.25),
        ("Newark", 40.736, -74.172),
        ("Jersey City", 40.718, -74.043),
        ("Cherry Hill", 39.934, -75.031),
    ),
    *_cities(
        _state("NV", "America/Los_Angeles", "89", 0.02, 0.30),
        ("Las Vegas", 36.170, -115.140),
        ("Reno", 39.530, -119.814),
        ("Henderson", 36.040, -114.982),
    ),
    *_cities(
        _state("OR", "America/Los_Angeles", "97", 0.02, 0.45),
        ("Portland", 45.515, -122.678),
        ("Beaverton", 45.487, -122.804),
        ("Eugene", 44.052, -123.087),
        ("Bend", 44.058, -121.315),
    ),
    *_cities(
        _state("PA", "America/New_York", "15", 1.00, 0.00),
        ("Pittsburgh", 40.441, -79.996),
        ("Philadelphia", 39.953, -75.165),
        ("Harrisburg", 40.273, -76.887),
    ),
    *_cities(
        _state("WA", "America/Los_Angeles", "98", 0.00, 0.60),
        ("Seattle", 47.606, -122.332),
        ("Spokane", 47.659, -117.426),
        ("St. Helens Bay", 46.200, -122.400),
    ),
)

CITIES_BY_SIZE = WeightedValues({city: 1.0 / (rank % 5 + 1) for rank, city in enumerate(CITIES)})
"""The first cities of the list get more stores than the others."""
