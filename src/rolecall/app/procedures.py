"""A procedure of the database as a handler: what an app says of it, so that workers run it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypedDict

from rolecall.model.durations import Duration, in_seconds
from rolecall.model.retry import RetryPolicy
from rolecall.model.tasks import NewTask

__all__ = ["ProcedureDefinition", "ProcedureOptions"]


class ProcedureOptions(TypedDict, total=False):
    """What `app.procedure(...)` may say besides name and procedure; what it does not say is the role's."""

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
    """A handler that the database runs: `procedure` is `schema.name` of a procedure of either shape.

    (payload jsonb, inout info jsonb) adds facts to its task, (payload jsonb) has none to add. The hooks `before` and
    `after` name procedures (payload jsonb) or ().
    """

    name: str
    procedure: str
    options: ProcedureOptions = field(default_factory=ProcedureOptions)

    @property
    def role(self) -> str:
        """The lane that its tasks stand in; the handler's own name if none was given."""
        return self.options.get("role") or self.name

    def task(self, **payload: object) -> NewTask:
        """Make a task with this payload; only the procedure knows what fits it."""
        return NewTask(handler=self.name, payload=payload)

    def to_json(self) -> dict[str, object]:
        """Return what is said of this handler, as the database takes it."""
        said = dict(self.options) | {"name": self.name, "role": self.role, "procedure": self.procedure}
        retry = self.options.get("retry")
        said |= {"retry": retry.to_json() if retry else None}
        said |= {"timeout": in_seconds(self.options.get("timeout")), "lease": in_seconds(self.options.get("lease"))}
        said |= {"expires": in_seconds(self.options.get("expires"))}
        return {name: value for name, value in said.items() if value is not None}
