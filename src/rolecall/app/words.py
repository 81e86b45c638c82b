"""Rejects invalid names, durations and numbers at their declaration, before the database does."""

from __future__ import annotations

import re
from datetime import timedelta

from rolecall.model.durations import in_seconds
from rolecall.model.errors import InvalidDeclaration
from rolecall.model.retry import RetryPolicy

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,62}")
# In seconds, as in check_declaration of declare.sql.
DURATIONS = {
    "lease": (0.1, 86_400.0),
    "timeout": (0.001, 4e9),
    "expires": (0.001, 4e9),
    "keep_completed": (0.0, 4e9),
    "keep_failed": (0.0, 4e9),
}
POLICIES = "rolecall.exponential(), linear(), immediate() or no_retry()"


def require_valid_settings(what: str, settings: object) -> None:
    """Raise InvalidDeclaration, with the setting's name, for an invalid setting of a handler or role.

    None is valid.
    """
    for word in ("name", "role"):
        name = getattr(settings, word, None)
        if name is not None and not (isinstance(name, str) and NAME.fullmatch(name)):
            rule = "a letter, then up to 62 letters, digits, _ . -"
            raise InvalidDeclaration(f"{what}: {word}={name!r} is not a valid name ({rule})")
    for word, (least, most) in DURATIONS.items():
        duration = getattr(settings, word, None)
        if duration is not None and not _is_between(duration, least, most):
            rule = f"{least:g} to {most:g} seconds, as a number or a timedelta"
            raise InvalidDeclaration(f"{what}: {word}={duration!r} is not a valid duration ({rule})")
    _require_attempts(what, getattr(settings, "max_attempts", None))
    _require_policy(what, getattr(settings, "retry", None))


def _require_attempts(what: str, number: object) -> None:
    if number is not None and not _is_count(number):
        raise InvalidDeclaration(f"{what}: max_attempts={number!r} is not a valid number of attempts (0 = unlimited)")


def _require_policy(what: str, policy: object) -> None:
    if policy is not None and not isinstance(policy, RetryPolicy):
        hint = f"; to limit the attempts, use max_attempts={policy!r}" if _is_count(policy) else ""
        raise InvalidDeclaration(f"{what}: retry={policy!r} is not a retry policy: use {POLICIES}{hint}")


def _is_between(duration: object, least: float, most: float) -> bool:
    if isinstance(duration, bool) or not isinstance(duration, int | float | timedelta):
        return False
    seconds = in_seconds(duration)
    return seconds is not None and least <= seconds <= most


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
