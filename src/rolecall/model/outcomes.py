"""Values for handlers to return instead of a result, and a worker's reports about its claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NoReturn

from rolecall.model.durations import require_when
from rolecall.model.errors import ResultNotStored, ResultUnreadable
from rolecall.model.reading import ReadsResult
from rolecall.model.tasks import Enqueued, Need, NextTasks

MARK = "result not stored"
ELSEWHERE = "result stored elsewhere"


@dataclass(frozen=True, slots=True)
class Snooze:
    """Returned by a handler: run it again in so many seconds, or at a moment (`until`, with a time zone).

    The attempt does not count. A moment in the past means now.
    """

    seconds: float | None = None
    until: datetime | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        require_when("a snooze", self.seconds, self.until)


@dataclass(frozen=True, slots=True)
class Cancel:
    """Returned by a handler: cancel this task and do not retry it."""

    reason: str = ""


@dataclass(frozen=True, slots=True, init=False)
class WaitFor:
    """Returned by a handler: run it again when these tasks or chains have finished. The attempt does not count.

    return WaitFor(upload.id, Need(scan, name="scan"))
    """

    needs: tuple[Need | int | Enqueued, ...]

    def __init__(self, *needs: Need | int | Enqueued) -> None:
        if not needs:
            raise ValueError("WaitFor needs at least one task or chain")
        object.__setattr__(self, "needs", needs)


NoResult = Snooze | WaitFor | Cancel


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """The handler returned. `result_json` is JSON text that the database accepts.

    If the result could not be stored, `unstored` is the reason and `result_json` a marker.
    """

    id: int
    fence: int
    result_json: str | None = None
    unstored: str | None = None
    ran: float | None = None
    next_tasks: NextTasks | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The attempt failed, with `reason` error, timeout or cancelled.

    `after` (seconds) or `at` overrides the retry policy. `final` fails the task even if attempts are left.
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
    """The handler asked to run again after some seconds or at a moment."""

    id: int
    fence: int
    after: float | None = None
    at: datetime | None = None
    ran: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """The handler asked to run again when other tasks or chains have finished."""

    id: int
    fence: int
    needs: Sequence[Need | int | Enqueued]
    ran: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """The handler cancelled the task."""

    id: int
    fence: int
    error: str = ""
    ran: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """The worker returns the task before it started; the attempt does not count."""

    id: int
    fence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Misfit:
    """The payload does not fit this release's handler. The task goes to another release; the attempt does not count."""

    id: int
    fence: int
    intake: str
    error: str


Report = Completed | Failed | Snoozed | Blocked | Cancelled | Returned | Misfit


class NoUsableResult:
    """Takes the place of a result that cannot be used; using it as a result raises the error that explains why.

    `is`, `isinstance`, `repr` and the fields of the subclass work as usual.
    """

    __slots__ = ()

    def _error(self) -> Exception:
        raise NotImplementedError

    def _refuse(self, *_: object) -> NoReturn:
        raise self._error()

    def __getattr__(self, name: str) -> Any:
        """Raise the error for any attribute except dunder names, which Python itself looks up and must find missing."""
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
    """The result of a completed task that was not stored, and `why`. Using it raises ResultNotStored."""

    why: str
    rolecall: str = MARK

    def _error(self) -> Exception:
        return ResultNotStored(self.why)


@dataclass(frozen=True, slots=True, eq=False)
class UnreadableResult(NoUsableResult):
    """A stored result that does not fit the type that its handler declares, because another release or a person wrote
    it.

    `stored` is the result as JSON values, `problem` what does not fit. Using it raises ResultUnreadable.
    """

    problem: str
    handler: str
    stored: Any

    def _error(self) -> Exception:
        return ResultUnreadable(handler=self.handler, problem=self.problem)


def why_unstored(result: object) -> str | None:
    """Return why a result was not stored; None if it is a result."""
    return result.why if isinstance(result, UnstoredResult) else None


class StoredElsewhere(dict[str, Any]):
    """The pointer that a row stores in place of a large result.

    `whole` is the result itself, until its attempt ends.
    """

    __slots__ = ("whole",)

    def __init__(self, whole: object, *, store: str, path: str, size: int, sha256: str) -> None:
        super().__init__(rolecall=ELSEWHERE, store=store, path=path, bytes=size, sha256=sha256)
        self.whole = whole


class ResultPointer(dict[str, Any]):
    """A pointer to a result that is kept elsewhere; `returns` reads it as the type that its handler declares."""

    __slots__ = ("returns",)

    def __init__(self, stored: Mapping[str, Any], returns: ReadsResult) -> None:
        super().__init__(stored)
        self.returns = returns
