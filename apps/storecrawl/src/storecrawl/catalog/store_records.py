"""A store as discovery finds it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveredStore:
    """A store found by discovery. Only its platform and its id there are certain; `raw` is the platform's object.

    `endpoint` is the base URL at which the store answers, if it differs from that of the platform.
    """

    platform: str
    platform_store_id: str
    endpoint: str | None = None
    name: str | None = None
    slug: str | None = None
    chain: str | None = None
    address: str | None = None
    city: str | None = None
    state: str | None = None
    postal_code: str | None = None
    country: str | None = None
    latitude: float | None = None
    longitude: float | None = None
    timezone: str | None = None
    menu_url: str | None = None
    recreational: bool | None = None
    medical: bool | None = None
    raw: object = None
