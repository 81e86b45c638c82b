"""Time zones by their IANA names. UTC is there on every machine; others come with the system, or with tzdata."""

from __future__ import annotations

from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

__all__ = ["find_zone", "known_zones"]


def find_zone(name: str) -> tzinfo | None:
    """The zone of a name; None where there is none."""
    if name == str(UTC):
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def known_zones() -> set[str]:
    """The names of all zones that this machine knows."""
    return available_timezones() | {str(UTC)}
