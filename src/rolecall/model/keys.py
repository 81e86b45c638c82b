"""The capacities of keys and of patterns that fit many, and how it stands with one key."""

from __future__ import annotations

from dataclasses import dataclass

from rolecall.model.errors import InvalidDeclaration

__all__ = ["KeyCapacity", "KeyNow", "Unparked", "require_key_capacity", "require_key_pattern"]

LONGEST_KEY = 200
MOST_AT_ONCE = 32_767
STAR = "*"


@dataclass(frozen=True, slots=True)
class KeyCapacity:
    """How many tasks of a key run at once, or of each key that a pattern fits (`tenant:*`).

    `capacity` is what counts: what somebody has set, else what an app declares. The fields stand in the columns' order.
    """

    pattern: str
    capacity: int
    declared: int | None
    set_to: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyNow:
    """A key at this moment: its capacity and the pattern that says so (None: nothing does), who has it, who wants it.

    `used` counts the tasks that hold it, `holders` are the first ten of them. `waiting` are due, `later` are not yet;
    with `more` there are more of them than were counted.
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
    """Parked tasks that nothing else would have brought back, and whether there are more keys to look at."""

    ids: list[int]
    more: bool


def require_key_capacity(pattern: str, capacity: int) -> None:
    """Raise InvalidDeclaration for what is no key or pattern of keys, or no capacity, as the engine does."""
    require_key_pattern(pattern)
    if type(capacity) is not int or not 1 <= capacity <= MOST_AT_ONCE:
        raise InvalidDeclaration(f"the capacity of {pattern!r} is a number from 1 to {MOST_AT_ONCE}, not {capacity!r}")


def require_key_pattern(pattern: str) -> None:
    """Raise InvalidDeclaration for what is no key or pattern of keys, as the engine does."""
    if not _is_text(pattern) or not 1 <= len(pattern) <= LONGEST_KEY:
        raise InvalidDeclaration(f"a key has 1 to {LONGEST_KEY} characters")
    if STAR in pattern[:-1]:
        problem = f"{pattern!r} has a star before its end: a pattern of keys is a beginning and one star"
        raise InvalidDeclaration(problem)


def _is_text(value: object) -> bool:
    """Whether it is a text that the database can hold."""
    if not isinstance(value, str) or "\0" in value:
        return False
    return not any("\ud800" <= character <= "\udfff" for character in value)
