"""Who changed what: the rows of the audit log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

__all__ = ["Actor", "AuditEvent", "AuditFilter", "StoredAuditEvent", "Via"]

Via = Literal["cli", "api", "dashboard", "system"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who asks for a change, and through which shell; `origin` is the network address, where there is one."""

    name: str
    via: Via
    origin: str | None = None


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """A change as it is asked for: `tasks.retry`, with what it is about."""

    action: str
    detail: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Which rows of the audit log to list, newest first; None does not filter, `before` pages on from an id.

    `since` has a zone.
    """

    actor: str | None = None
    action: str | None = None
    via: Via | None = None
    since: datetime | None = None
    before: int | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True)
class StoredAuditEvent:
    """A row of the audit log; the fields stand in the order of the table's columns.

    `outcome` is what the change answered, or only how much where that is long.
    """

    id: int
    at: datetime
    actor: str
    via: str
    origin: str | None
    action: str
    detail: dict[str, Any]
    outcome: Any
