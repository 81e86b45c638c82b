"""Errors about watching the pool."""

from __future__ import annotations

from rolecall.model.errors.root import RolecallError


class TooManyWatchers(RolecallError):
    """As many streams are open as one server process serves."""
