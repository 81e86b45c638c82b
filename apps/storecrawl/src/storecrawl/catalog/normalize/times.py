"""Moments as sources write them: ISO texts and epoch milliseconds, also as text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(9000, 1, 1, tzinfo=UTC)
LATEST_MILLISECONDS = (LATEST - EPOCH) // timedelta(milliseconds=1)


def moment_of(value: object) -> datetime | None:
    """A moment in UTC, or None; a text without zone is taken as UTC."""
    if isinstance(value, str):
        text = value.strip()
        return _from_milliseconds(int(text)) if _is_integer(text) else _from_iso(text)
    if isinstance(value, int) and not isinstance(value, bool):
        return _from_milliseconds(value)
    return None


def _is_integer(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 18


def _from_milliseconds(value: int) -> datetime | None:
    return EPOCH + timedelta(milliseconds=value) if 0 < value < LATEST_MILLISECONDS else None


def _from_iso(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
        zoned = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return zoned if EPOCH < zoned < LATEST else None
