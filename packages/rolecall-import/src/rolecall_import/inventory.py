"""The contents of another system's code base, with their equivalents in Rolecall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A line of a file. Its path is relative to the folder that was read."""

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
    """A task of the other system as a Rolecall handler; `words` are the arguments of `app.task(...)`, as code.

    `function` is the name in the module, `imports` are those of the annotations, `notes` are remarks for the reader.
    `statements` is the number of statements of the body, which has to be moved by hand.
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
    statements: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSchedule:
    """A schedule; `task` is the handler's name, `words` are the arguments of `app.schedule(...)`, as code."""

    name: str
    task: str
    place: Place
    words: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCall:
    """A place that enqueues a task or reads a result, and its replacement."""

    place: Place
    code: str
    instead: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Code without an equivalent, or whose equivalent cannot be derived from the code, and the reason."""

    place: Place
    code: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement at the top level of a file that is not translated, with the number of statements in it.

    `code` is empty for a file that does not use the other system: `statements` are those of the file.
    """

    place: Place
    code: str
    statements: int


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
    rest: list[Statement] = field(default_factory=list)
    unread: Sequence[Unread] = ()

    def in_order(self) -> Inventory:
        """Sort by place, so that the same code gives the same report."""
        self.tasks.sort(key=lambda task: (task.place, task.name))
        self.schedules.sort(key=lambda schedule: (schedule.place, schedule.name))
        self.calls.sort(key=lambda call: (call.place, call.code))
        self.gaps.sort(key=lambda gap: (gap.place, gap.code, gap.reason))
        self.rest.sort(key=lambda statement: (statement.place, statement.code))
        return self
