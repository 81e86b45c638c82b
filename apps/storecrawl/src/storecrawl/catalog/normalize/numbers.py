"""Numbers as JSON sources write them (numbers, texts, currency texts), read exactly."""

from __future__ import annotations

import math
import re
from decimal import Decimal

MAGNITUDE_LIMIT = 10**15

_NUMBER = re.compile(r"\$?(-?(?:[0-9]{1,3}(?:,[0-9]{3}){1,4}|[0-9]{1,15})?(?:\.[0-9]{0,15})?)")


def decimal_of(value: object) -> Decimal | None:
    """The exact value of a JSON number, or of a text such as "30.00", ".5" or "$1,249.50"; else None.

    A float counts as the shortest text that reads back as it, which is what the source wrote.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return _from_text(value)
    if isinstance(value, int):
        return Decimal(value) if abs(value) < MAGNITUDE_LIMIT else None
    if isinstance(value, float):
        return Decimal(repr(value)) if math.isfinite(value) and abs(value) < MAGNITUDE_LIMIT else None
    if isinstance(value, Decimal):
        return value if value.is_finite() and abs(value) < MAGNITUDE_LIMIT else None
    return None


def _from_text(value: str) -> Decimal | None:
    found = _NUMBER.fullmatch(value.strip())
    digits = found[1].replace(",", "") if found else ""
    return Decimal(digits) if any(character.isdigit() for character in digits) else None
