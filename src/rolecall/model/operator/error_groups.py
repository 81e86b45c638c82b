"""Error groups: the failures with the same cause, as operators list and mark them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

ErrorState = Literal["new", "muted", "resolved"]
STATES: tuple[ErrorState, ...] = get_args(ErrorState)


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """Failures of a handler with the same cause. The fields are also the columns that are read.

    `type`, `message` and `frame` are those of the error; values in the message are replaced by stars, and the frame is
    the innermost one outside of libraries. `failed` counts tasks, `retried` failed attempts that were not their
    task's last. `opened_at` is the first failure, or the first one after the group was resolved. `sample_id` is a task
    with one of the latest failures. `hours` has the failures of the last 24 hours, the present hour last. A release is
    the digest of a worker's declarations.
    """

    id: int
    handler: str
    type: str | None
    message: str
    frame: str | None
    state: ErrorState
    state_at: datetime
    opened_at: datetime
    first_at: datetime
    last_at: datetime
    failed: int
    retried: int
    sample_id: int
    first_release: str | None
    last_release: str | None
    hours: list[int]

    @property
    def title(self) -> str:
        """The error on one line."""
        return ": ".join(filter(None, (self.type, self.message))) or "an error without a message"


@dataclass(frozen=True, slots=True)
class ErrorGroupDetail(ErrorGroup):
    """An error group with the text of its latest error, and the number of its tasks that are failed now.

    `error` is None if no failure of the group is stored any more.
    """

    failed_tasks: int
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorGroupFilter:
    """Conditions for listing error groups, those with the latest failures first. None does not filter.

    `since` selects groups that were opened at that time or later. `text` is searched in handler, type, message and
    frame, without regard to case.
    """

    ids: Sequence[int] | None = None
    states: Sequence[ErrorState] | None = None
    handler: str | None = None
    text: str | None = None
    since: datetime | None = None
    cursor: str | None = None
    limit: int = 50

    def conditions(self) -> dict[str, object]:
        """Return the conditions that filter, by name."""
        given: dict[str, object] = {"handler": self.handler, "text": self.text, "since": self.since}
        given["ids"] = None if self.ids is None else list(self.ids)
        given["states"] = None if self.states is None else list(self.states)
        return {name: value for name, value in given.items() if value is not None}
