"""Declares stored procedures as SQL handlers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypedDict

from rolecall.model.durations import Duration, in_seconds
from rolecall.model.retry import RetryPolicy
from rolecall.model.tasks import NewTask


class ProcedureOptions(TypedDict, total=False):
    """The options of `app.procedure(...)`. Omitted options are those of the role."""

    role: str
    before: str
    after: str
    description: str
    retry: RetryPolicy
    max_attempts: int
    timeout: Duration
    expires: Duration
    lease: Duration
    key: str
    dedupe_key: str
    strict_keys: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcedureDefinition:
    """A SQL handler. `procedure` is `schema.name` of a stored procedure.

    Its parameters are (payload jsonb), or (payload jsonb, inout info jsonb) to add facts to its task. The hooks
    `before` and `after` are procedures with the parameters (payload jsonb) or ().
    """

    name: str
    procedure: str
    options: ProcedureOptions = field(default_factory=ProcedureOptions)

    @property
    def role(self) -> str:
        """The role of its tasks, by default the handler's name."""
        return self.options.get("role") or self.name

    def task(self, **payload: object) -> NewTask:
        """Return a task with this payload, which is not checked."""
        return NewTask(handler=self.name, payload=payload)

    def to_json(self) -> dict[str, object]:
        """Return the declaration as the engine takes it."""
        document = dict(self.options) | {"name": self.name, "role": self.role, "procedure": self.procedure}
        retry = self.options.get("retry")
        document |= {"retry": retry.to_json() if retry else None}
        document |= {"timeout": in_seconds(self.options.get("timeout")), "lease": in_seconds(self.options.get("lease"))}
        document |= {"expires": in_seconds(self.options.get("expires"))}
        return {name: value for name, value in document.items() if value is not None}
