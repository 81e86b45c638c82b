"""Puts a `where` together from the filters that were given."""

from __future__ import annotations

__all__ = ["where"]


def where(*conditions: tuple[str, object]) -> tuple[str, tuple[object, ...]]:
    """Join the conditions whose value is not None, and return their values in order."""
    given = [(condition, value) for condition, value in conditions if value is not None]
    return " and ".join(["true", *(condition for condition, _ in given)]), tuple(value for _, value in given)
