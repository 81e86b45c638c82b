"""Errors about handlers: how they are declared, and what they do."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from rolecall.model.errors.root import RolecallError
from rolecall.model.states import LostReason
from rolecall.model.when import require_when

ContractCode = Literal[
    "not_entry_point",
    "invalid_input",
    "invalid_output",
    "invalid_continuation",
    "invalid_needs",
    "unknown_handler",
]


class HandlerError(RolecallError):
    """Something about the code that does a task."""


class InvalidDeclaration(HandlerError):
    """A handler, role or schedule is declared in a way that cannot work."""


class ContractBroken(HandlerError):
    """Something is not what a handler declares; `code` says in which respect, `details` with what values."""

    def __init__(
        self, problem: str, *, code: ContractCode, handler: str, details: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(problem)
        self.code = code
        self.handler = handler
        self.details = dict(details or {})


class InvalidPayload(ContractBroken):
    """The payload does not fit the handler's signature; `stored`: it is that of a task which a worker has claimed."""

    def __init__(self, problem: str, *, handler: str, stored: bool = False) -> None:
        super().__init__(
            f"payload of {handler!r}: {problem}", code="invalid_input", handler=handler, details={"problem": problem}
        )
        self.stored = stored


class HandlerMissing(ContractBroken):
    """No handler of this name is known here; `named_by` says who speaks of it, `hint` what may have been meant."""

    def __init__(self, *, handler: str, named_by: str | None = None, hint: str = "") -> None:
        speaker = f", but {named_by} names it" if named_by else ""
        super().__init__(
            f"no handler is called {handler!r} here{speaker}{hint}",
            code="unknown_handler",
            handler=handler,
            details={"named_by": named_by} if named_by else None,
        )


class HandlerNotFound(HandlerError):
    """A handler was asked for by its name, and nobody declared it."""


class ResultNotStored(HandlerError):
    """A result is read that could not be stored: it had no JSON form, or was too large."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the result was not stored: {why}")
        self.why = why


class HandlerTimeout(HandlerError):
    """The handler ran longer than its timeout."""

    def __init__(self, *, after: float) -> None:
        super().__init__(f"the handler did not finish within {after:g} s")
        self.after = after


class HandlerAborted(HandlerError):
    """The handler must stop: its task is no longer its own."""

    def __init__(self, problem: str | None = None, *, reason: LostReason) -> None:
        super().__init__(problem or f"the handler must stop: {reason}")
        self.reason = reason


class AlreadyCompleted(HandlerAborted):
    """The claim has completed; the transaction was undone.

    Raised by `complete` in a second transaction of one claim, mostly one that repeats a first whose commit was not
    answered: all that the first one wrote stands. A handler that ends with this error has ended well.
    """

    def __init__(self, *, task_id: int) -> None:
        super().__init__(
            f"task {task_id}: this claim has completed; the transaction was undone", reason=LostReason.COMPLETED
        )
        self.task_id = task_id


class PermanentFailure(HandlerError):
    """For handlers to raise: the task fails at once, because no retry would help."""


class Retry(HandlerError):
    """For handlers to raise: this attempt failed, and the next one is to come at a moment of their choosing.

    `raise Retry(after=60) from error` stores the cause as the task's error. `after` is in seconds, `at` a moment
    with a time zone; either stands in for the retry policy. The attempt is spent: the last one fails the task.
    """

    def __init__(
        self, problem: str = "to be tried again", *, after: float | None = None, at: datetime | None = None
    ) -> None:
        require_when("a retry", after, at)
        super().__init__(problem)
        self.after = after
        self.at = at
