"""Errors about a request that is to be carried out once."""

from __future__ import annotations

from rolecall.model.errors.root import RolecallError


class RequestError(RolecallError):
    """Something about a request that has a key."""


class RequestUnderWay(RequestError):
    """The same caller's request with the same key has no answer yet."""


class RequestKeyReused(RequestError):
    """The key was that of another request of the same caller."""
