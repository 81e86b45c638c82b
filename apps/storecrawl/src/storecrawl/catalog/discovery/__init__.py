"""Discovery: states and their cities, the locations found there, and how they become stores.

    discover_locations -> promote_locations     record the locations of a city, and apply the rules
    verify, link, reject, unreject              decisions of a person about one location
    find_by_entry, investigate                  ids and entry points that lead nowhere
    list_states, list_cities, list_locations    lists

Nothing here commits. The locations table checks status changes and logs each of them itself.
"""

from __future__ import annotations

from storecrawl.catalog.discovery.answers import (
    AnswerKind,
    DiscoveryPayload,
    find_answer,
    list_answers,
    record_answer,
)
from storecrawl.catalog.discovery.cities import (
    US_STATES,
    CityRecord,
    NamedCity,
    SearchedArea,
    StateRecord,
    enter_cities,
    list_cities,
    list_states,
    note_area_failed,
    note_city_crawled,
)
from storecrawl.catalog.discovery.decisions import (
    KnownLocation,
    VerifiedLocation,
    find_by_entry,
    investigate_entry,
    investigate_store,
    link_location,
    reject_location,
    settle_entry,
    unreject_location,
    verify_location,
)
from storecrawl.catalog.discovery.locations import (
    Location,
    LocationFilter,
    LocationStatus,
    Promotion,
    find_location,
    list_locations,
    location_promotions,
    location_raw,
)
from storecrawl.catalog.discovery.promotion import DiscoveryReport, StoreRules, discover_locations, promote_locations

__all__ = [
    "US_STATES",
    "AnswerKind",
    "CityRecord",
    "DiscoveryPayload",
    "DiscoveryReport",
    "KnownLocation",
    "Location",
    "LocationFilter",
    "LocationStatus",
    "NamedCity",
    "Promotion",
    "SearchedArea",
    "StateRecord",
    "StoreRules",
    "VerifiedLocation",
    "discover_locations",
    "enter_cities",
    "find_answer",
    "find_by_entry",
    "find_location",
    "investigate_entry",
    "investigate_store",
    "link_location",
    "list_answers",
    "list_cities",
    "list_locations",
    "list_states",
    "location_promotions",
    "location_raw",
    "note_area_failed",
    "note_city_crawled",
    "promote_locations",
    "record_answer",
    "reject_location",
    "settle_entry",
    "unreject_location",
    "verify_location",
]
