"""Errors about who asks."""

from __future__ import annotations

from math import ceil

from rolecall.model.errors.root import RolecallError


class AccessError(RolecallError):
    """Something about who asks."""


class NotAuthenticated(AccessError):
    """Nobody knows who asks: no key, or one that is unknown, expired or revoked."""


class TooManyRequests(AccessError):
    """Who asks must wait for so many seconds first."""

    def __init__(self, problem: str, *, retry_after: float) -> None:
        super().__init__(f"{problem}: try again in {ceil(retry_after)} s")
        self.retry_after = retry_after


class ApiKeyNotFound(AccessError):
    """No API key has this id, or none that still opens anything."""


class PersonNotFound(AccessError):
    """Nobody of this name may log in."""


class DuplicatePerson(AccessError):
    """Somebody of this name may log in already."""


class NotAllowed(AccessError):
    """Who asks is known, and may not do this."""
