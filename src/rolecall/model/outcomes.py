"""What a handler may return besides a result, and what a worker reports about each claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NoReturn

from rolecall.model.durations import require_when
from rolecall.model.errors import ResultNotStored, ResultUnreadable
from rolecall.model.reading import ReadsResult
from rolecall.model.tasks import Enqueued, Need, NextTasks

__all__ = [
    "ELSEWHERE",
    "MARK",
    "Blocked",
    "Cancel",
    "Cancelled",
    "Completed",
    "Failed",
    "Misfit",
    "NoResult",
    "Report",
    "ResultPointer",
    "Returned",
    "Snooze",
    "Snoozed",
    "StoredElsewhere",
    "UnreadableResult",
    "UnstoredResult",
    "WaitFor",
    "why_unstored",
]

MARK = "result not stored"
ELSEWHERE = "result stored elsewhere"


@dataclass(frozen=True, slots=True)
class Snooze:
    """Returned by a handler: try again in so many seconds, or at a moment (`until`, with a time zone).

    The attempt is given back; a moment that has passed means now.
    """

    seconds: float | None = None
    until: datetime | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        require_when("a snooze", self.seconds, self.until)


@dataclass(frozen=True, slots=True)
class Cancel:
    """Returned by a handler: this task is pointless and must not be tried again."""

    reason: str = ""


@dataclass(frozen=True, slots=True, init=False)
class WaitFor:
    """Returned by a handler: call it again when these have finished; the attempt is given back.

    return WaitFor(upload.id, Need(scan, name="scan"))
    """

    needs: tuple[Need | int | Enqueued, ...]

    def __init__(self, *needs: Need | int | Enqueued) -> None:
        if not needs:
            raise ValueError("WaitFor names at least one task or chain")
        object.__setattr__(self, "needs", needs)


NoResult = Snooze | WaitFor | Cancel


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """The handler returned. `result_json` is JSON text that is already known to be storable.

    `unstored` says why that is not the result but a marker in its place.
    """

    id: int
    fence: int
    result_json: str | None = None
    unstored: str | None = None
    ran: float | None = None
    next_tasks: NextTasks | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The attempt failed: by `reason` error, timeout or cancelled.

    `after` (seconds) or `at` overrides the retry policy; `final` ends the task whatever attempts are left.
    """

    id: int
    fence: int
    error: str
    reason: str = "error"
    final: bool = False
    after: float | None = None
    at: datetime | None = None
    ran: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Snoozed:
    """The handler asked to be called again after so many seconds, or at a moment."""

    id: int
    fence: int
    after: float | None = None
    at: datetime | None = None
    ran: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """The handler asked to be called again when something else has finished."""

    id: int
    fence: int
    needs: Sequence[Need | int | Enqueued]
    ran: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """The handler gave the task up for good."""

    id: int
    fence: int
    error: str = ""
    ran: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """The worker gives the task back before it began: the attempt is not spent."""

    id: int
    fence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Misfit:
    """The payload does not fit the handler of this release: the task is for another one, the attempt not spent."""

    id: int
    fence: int
    intake: str
    error: str


Report = Completed | Failed | Snoozed | Blocked | Cancelled | Returned | Misfit


class NoUsableResult:
    """Stands where a result would be: any use of it as a result raises the error that says why there is none.

    `is`, `isinstance`, `repr` and the fields of the subclass are free.
    """

    __slots__ = ()

    def _error(self) -> Exception:
        raise NotImplementedError

    def _refuse(self, *_: object) -> NoReturn:
        raise self._error()

    def __getattr__(self, name: str) -> Any:
        """Refuse what a result might have; what Python itself looks for is simply not there."""
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()

    __bool__ = __len__ = __iter__ = __next__ = __contains__ = __getitem__ = __call__ = _refuse
    __str__ = __format__ = __int__ = __float__ = __index__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __or__ = __ror__ = __truediv__ = _refuse
    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True, eq=False)
class UnstoredResult(NoUsableResult):
    """The result of a completed task that could not be stored, and `why`. Using it raises ResultNotStored."""

    why: str
    rolecall: str = MARK

    def _error(self) -> Exception:
        return ResultNotStored(self.why)


@dataclass(frozen=True, slots=True, eq=False)
class UnreadableResult(NoUsableResult):
    """A stored result that does not fit the type that its handler declares: another release wrote it, or a person.

    `stored` is the result as JSON values, `problem` says what does not fit. Using it raises ResultUnreadable.
    """

    problem: str
    handler: str
    stored: Any

    def _error(self) -> Exception:
        return ResultUnreadable(handler=self.handler, problem=self.problem)


def why_unstored(result: object) -> str | None:
    """Say why a result could not be stored; None where it is one."""
    return result.why if isinstance(result, UnstoredResult) else None


class StoredElsewhere(dict[str, Any]):
    """What stands in a row in place of a result that is kept elsewhere: where that is.

    `whole` is the result itself, as long as its attempt has not ended.
    """

    __slots__ = ("whole",)

    def __init__(self, whole: object, *, store: str, path: str, size: int, sha256: str) -> None:
        super().__init__(rolecall=ELSEWHERE, store=store, path=path, bytes=size, sha256=sha256)
        self.whole = whole


class ResultPointer(dict[str, Any]):
    """Where a result is kept that is not in the task's row; `returns` reads it as its handler declares it."""

    __slots__ = ("returns",)

    def __init__(self, stored: Mapping[str, Any], returns: ReadsResult) -> None:
        super().__init__(stored)
        self.returns = returns
