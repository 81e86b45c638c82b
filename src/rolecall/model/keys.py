"""Capacities of keys and key patterns, and the state of one key."""

from __future__ import annotations

from dataclasses import dataclass

from rolecall.model.errors import InvalidDeclaration

LONGEST_KEY = 200
MOST_AT_ONCE = 32_767
STAR = "*"


@dataclass(frozen=True, slots=True)
class KeyCapacity:
    """How many tasks of a key, or of each key that matches a pattern (`tenant:*`), run at once.

    `capacity` is the effective value: `set_to` by an operator, otherwise `declared` by an app. The fields are in the
    order of the columns.
    """

    pattern: str
    capacity: int
    declared: int | None
    set_to: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyState:
    """The state of a key: its capacity, the pattern that sets it (None: the default), and its holders and waiting
    tasks.

    `used` counts the tasks that hold a permit, `holders` are the first ten of them. `waiting` are due, `later` are
    not. With `more` there are more of these than were counted.
    """

    key: str
    capacity: int
    pattern: str | None
    used: int
    holders: list[int]
    waiting: int
    later: int
    more: bool


@dataclass(frozen=True, slots=True)
class Unparked:
    """Parked tasks that were brought back, and whether more keys remain to be checked."""

    ids: list[int]
    more: bool


def require_key_capacity(pattern: str, capacity: int, least: int = 1) -> None:
    """Raise InvalidDeclaration for an invalid key, key pattern or capacity, as the engine does."""
    require_key_pattern(pattern)
    if type(capacity) is not int or not least <= capacity <= MOST_AT_ONCE:
        expected = f"a number from {least} to {MOST_AT_ONCE}"
        raise InvalidDeclaration(f"the capacity of {pattern!r} is {expected}, not {capacity!r}")


def require_key_pattern(pattern: str) -> None:
    """Raise InvalidDeclaration for an invalid key or key pattern, as the engine does."""
    if not _is_text(pattern) or not 1 <= len(pattern) <= LONGEST_KEY:
        raise InvalidDeclaration(f"a key has 1 to {LONGEST_KEY} characters")
    if STAR in pattern[:-1]:
        problem = f"{pattern!r} has a star before its end: a pattern of keys is a beginning and one star"
        raise InvalidDeclaration(problem)


def _is_text(value: object) -> bool:
    """Return whether the database can store a text."""
    if not isinstance(value, str) or "\0" in value:
        return False
    return not any("\ud800" <= character <= "\udfff" for character in value)
