"""Time zones by their IANA names. UTC is always available; others come with the system or with tzdata."""

from __future__ import annotations

from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones


def find_zone(name: str) -> tzinfo | None:
    """Return the time zone of this name; None if there is none."""
    if name == str(UTC):
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def known_zones() -> set[str]:
    """Return the names of all time zones on this machine."""
    return available_timezones() | {str(UTC)}
