"""A request that is carried out once, however often it is sent."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["KeptAnswer", "RequestKey"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestKey:
    """Who sends it, under which key, and a digest of all that it says."""

    caller: str
    key: str
    digest: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAnswer:
    """What it was answered; `body` is JSON text."""

    status: int
    location: str | None
    body: str
