"""A handler as it is stored: what its tasks take, and what it sets differently from its role."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["DeclaredHandler"]


@dataclass(frozen=True, slots=True)
class DeclaredHandler:
    """A handler as the database knows it; durations in seconds, and None is what its role says.

    `signature` is the JSON schema of its payload, None for one that declares none. `max_attempts` of 0 is no limit.
    `procedure` names what the database runs, for a SQL handler.
    """

    name: str
    role: str
    description: str
    signature: Mapping[str, Any] | None
    lease: float | None
    timeout: float | None
    max_attempts: int | None
    retry: Mapping[str, Any] | None
    procedure: str | None
