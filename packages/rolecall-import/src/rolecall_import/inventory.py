"""What was found in a code base of another system, and what stands for it here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["FoundCall", "FoundSchedule", "FoundTask", "Gap", "Inventory", "Parameter", "Place", "Unread"]


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A line of a file, which is named from the folder that was read."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A field of a payload, with its annotation and default as code."""

    name: str
    annotation: str
    default: str | None = None


@dataclass(slots=True, kw_only=True)
class FoundTask:
    """A task of theirs, as a handler of ours; `words` are those of `app.task(...)`, as code.

    `function` is what it is called in the module, `imports` what its annotations need, `notes` what to know of it.
    """

    name: str
    function: str
    place: Place
    parameters: Sequence[Parameter]
    words: dict[str, str] = field(default_factory=dict)
    context: bool = False
    is_async: bool = False
    imports: Sequence[str] = ()
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSchedule:
    """A schedule of theirs; `task` is the handler's name, `words` are those of `app.schedule(...)`, as code."""

    name: str
    task: str
    place: Place
    words: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCall:
    """A place that enqueues, or asks for a result, and what to write there."""

    place: Place
    code: str
    instead: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """What has no equivalent, or none that a reader of code could write, and why."""

    place: Place
    code: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A file that could not be read."""

    file: str
    problem: str


@dataclass(slots=True, kw_only=True)
class Inventory:
    """Everything that was found, in the order of files and lines."""

    system: str
    files: int
    tasks: list[FoundTask] = field(default_factory=list)
    schedules: list[FoundSchedule] = field(default_factory=list)
    calls: list[FoundCall] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    unread: Sequence[Unread] = ()

    def in_order(self) -> Inventory:
        """Sort by place, so that the same code is told the same way."""
        self.tasks.sort(key=lambda task: (task.place, task.name))
        self.schedules.sort(key=lambda schedule: (schedule.place, schedule.name))
        self.calls.sort(key=lambda call: (call.place, call.code))
        self.gaps.sort(key=lambda gap: (gap.place, gap.code, gap.reason))
        return self
