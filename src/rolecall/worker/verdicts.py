"""Decides what a handler's exception means for its task."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from rolecall.model.error_text import Scrub, describe, message_of
from rolecall.model.errors import ContractBroken, HandlerError, HandlerMissing, InvalidPayload, PermanentFailure, Retry


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The meaning of an exception for its task.

    `text`: the stored error. `after` (seconds) and `at`: when to retry, instead of the retry policy. `final`: do
    not retry. `misfit`: the task is for another release of the program. `invalid`: something does not match the
    declaration.
    """

    text: str
    final: bool = False
    after: float | None = None
    at: datetime | None = None
    misfit: bool = False
    invalid: bool = False


class RaisedElsewhere(HandlerError):
    """An exception of a handler in a child process, which was judged there."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.text)
        self.verdict = verdict


def judge(error: BaseException, scrub: Scrub = str) -> Verdict:
    """Return what a handler's exception means for its task. `scrub` removes redacted values from its text."""
    match error:
        case RaisedElsewhere():
            return error.verdict
        case InvalidPayload():
            return Verdict(text=scrub(message_of(error)), final=True, misfit=error.stored, invalid=True)
        case HandlerMissing():
            return Verdict(text=scrub(message_of(error)), invalid=True)
        case ContractBroken():
            # The work is done, and another attempt would end in the same way.
            return Verdict(text=scrub(message_of(error)), final=True, invalid=True)
        case Retry():
            return Verdict(text=describe(error.__cause__ or error, scrub), after=error.after, at=error.at)
        case PermanentFailure():
            return Verdict(text=describe(error if error.problem else error.__cause__ or error, scrub), final=True)
        case _:
            return Verdict(text=describe(error, scrub))
