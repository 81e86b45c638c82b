"""Reads the list of pools of one server: `billing=postgresql://db-1/billing mail=postgresql://db-2/mail`."""

from __future__ import annotations

import re

from rolecall.config.dsn import has_password, read_dsn
from rolecall.config.parsing import InvalidText

# The path and the cookies of a pool have its name. Two hyphens in a row would be one in the cookie's name.
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
LONGEST_NAME = 32
MOST_POOLS = 50


def read_pools(text: str) -> dict[str, str]:
    """Return the connection strings by the pools' names, in the given order.

    Raises InvalidText. Its message contains no part of the text, because every part may belong to a password.
    """
    found: dict[str, str] = {}
    for number, part in enumerate(text.split(), start=1):
        name, equals, dsn = part.partition("=")
        if not equals or not dsn:
            raise _invalid(number, "has not the form NAME=URL, such as mail=postgresql://db/mail")
        if not NAME.fullmatch(name) or len(name) > LONGEST_NAME:
            raise _invalid(number, f"needs a name of a-z, 0-9 and single hyphens, at most {LONGEST_NAME} characters")
        if name in found:
            raise _invalid(number, "has the name of an earlier pool")
        try:
            found[name] = read_dsn(dsn)
        except InvalidText as error:
            raise _invalid(number, f"has an address that {error.problem}") from None
    if len(found) > MOST_POOLS:
        raise InvalidText(f"has more than {MOST_POOLS} pools", shown="(hidden)")
    return found


def has_passwords(text: str) -> bool:
    """Return whether a list of pools contains a password."""
    return any(has_password(part.partition("=")[2]) for part in text.split())


def _invalid(number: int, problem: str) -> InvalidText:
    return InvalidText(f"is invalid: pool {number} {problem}", shown="(hidden)")
