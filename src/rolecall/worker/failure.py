"""What an exception tells the pool, and a person: its type and message, then the few frames that matter."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from rolecall.model.errors import ContractBroken, HandlerError, InvalidPayload, PermanentFailure, Retry
from rolecall.sql.results import clean_error

MOST_FRAMES = 8
LONGEST_MESSAGE = 4_000
OUR_FOLDER = str(Path(__file__).parent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What an exception means for its task: the text to store, and when to try again, if not by the policy.

    `after` is in seconds; `final`: never again; `misfit`: it is a task for another release of the program.
    """

    text: str
    final: bool = False
    after: float | None = None
    at: datetime | None = None
    misfit: bool = False


class RaisedElsewhere(HandlerError):
    """A handler raised in a process of its own; what that means was decided there, where the error was."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.text)
        self.verdict = verdict


def judge(error: BaseException) -> Verdict:
    """Decide what an exception that a handler raised means for its task."""
    match error:
        case RaisedElsewhere():
            return error.verdict
        case InvalidPayload():
            return Verdict(text=str(error), final=True, misfit=error.stored)
        case ContractBroken():
            return Verdict(text=str(error))
        case Retry():
            return Verdict(text=describe(error.__cause__ or error), after=error.after, at=error.at)
        case _:
            return Verdict(text=describe(error), final=isinstance(error, PermanentFailure))


def describe(error: BaseException) -> str:
    """Return `Type: message` and the tail of the traceback, without the worker's own frames.

    The text is what the database stores and a log can hold, whatever the error's message was.
    """
    frames = _frames(error)
    tail = "".join(traceback.format_list(frames[-MOST_FRAMES:])).rstrip()
    cause = error.__cause__
    because = f"\ncaused by {_headline(cause)}" if cause is not None else ""
    return clean_error(f"{_headline(error)}{because}\n{tail}" if tail else f"{_headline(error)}{because}")


def _headline(error: BaseException) -> str:
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    message = _message(error)
    return f"{name}: {message}" if message else name


def _message(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception as unprintable:  # noqa: BLE001 - an error whose own __str__ fails must still be told
        text = f"(its message cannot be shown: {type(unprintable).__name__})"
    return text if len(text) <= LONGEST_MESSAGE else f"{text[:LONGEST_MESSAGE]} ..."


def _frames(error: BaseException) -> list[traceback.FrameSummary]:
    return list(_foreign(traceback.extract_tb(error.__traceback__)))


def _foreign(frames: Iterable[traceback.FrameSummary]) -> Iterable[traceback.FrameSummary]:
    return (frame for frame in frames if not frame.filename.startswith(OUR_FOLDER))
