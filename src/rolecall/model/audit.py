"""The audit log: which changes were made, and by whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

Via = Literal["cli", "api", "dashboard", "system"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """The author of a change and the interface that was used; `origin` is the network address, if known."""

    name: str
    via: Via
    origin: str | None = None


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """A requested change: the action, such as `tasks.retry`, and its details."""

    action: str
    detail: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Conditions for listing audit entries, newest first; None does not filter.

    A kind is the first part of an action, such as `tasks`; `thing` is the id or name of a changed thing. Times must
    have a zone; `since` is inclusive, `until` exclusive. `before` is the id of the last entry of the previous page.
    """

    actor: str | None = None
    action: str | None = None
    kinds: Sequence[str] | None = None
    thing: str | None = None
    via: Via | None = None
    since: datetime | None = None
    until: datetime | None = None
    before: int | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True)
class StoredAuditEvent:
    """A row of the audit log; the fields are in the order of the table's columns.

    `outcome` is the result of the change, or only its size if it is long.
    """

    id: int
    at: datetime
    actor: str
    via: str
    origin: str | None
    action: str
    detail: dict[str, Any]
    outcome: Any
