"""A role's settings, as declared: the defaults of its tasks."""

from __future__ import annotations

from dataclasses import dataclass

from rolecall.model.durations import Duration, in_seconds
from rolecall.model.retry import RetryPolicy

__all__ = ["RoleDefinition"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleDefinition:
    """The lane that tasks stand in; what is None keeps the value that the database has.

    `lease` and `timeout` bound one attempt; `keep_completed` and `keep_failed` say how long tasks stay then: 14 days
    both by default. Days of which no role keeps anything any more are dropped whole; what one keeps for less goes row
    by row.
    `max_attempts` of 0 is no limit. `one_root` lets one task without parent be under way at a time, its children
    as many as there are slots.
    """

    name: str
    description: str | None = None
    lease: Duration | None = None
    timeout: Duration | None = None
    max_attempts: int | None = None
    retry: RetryPolicy | None = None
    max_payload_bytes: int | None = None
    keep_completed: Duration | None = None
    keep_failed: Duration | None = None
    one_root: bool | None = None

    def to_json(self) -> dict[str, object]:
        """Return what is said, as the database takes it."""
        said = {
            "name": self.name,
            "description": self.description,
            "lease": in_seconds(self.lease),
            "timeout": in_seconds(self.timeout),
            "max_attempts": self.max_attempts,
            "retry": self.retry.to_json() if self.retry else None,
            "max_payload_bytes": self.max_payload_bytes,
            "keep_completed": in_seconds(self.keep_completed),
            "keep_failed": in_seconds(self.keep_failed),
            "one_root": self.one_root,
        }
        return {name: value for name, value in said.items() if value is not None}
