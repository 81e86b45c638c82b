"""Asking the upstream about many things, with patience for those that fail."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from storecrawl.upstream import UpstreamFailure

S = TypeVar("S")
R = TypeVar("R")


async def ask_about_all(ask: Callable[[S], Awaitable[list[R]]], subjects: Iterable[S]) -> list[R]:
    """Ask about each subject, and again about those that failed, as long as a round brings any answer.

    A discovery asks hundreds of times: one answer that did not come must not cost all the others. Raises
    UpstreamFailure when a whole round brought nothing, or when asking again would not help.
    """
    found: list[R] = []
    waiting = list(subjects)
    while waiting:
        answers = await asyncio.gather(*(_answer(ask, subject) for subject in waiting))
        found += [one for answer in answers if isinstance(answer, list) for one in answer]
        failures = [answer for answer in answers if isinstance(answer, UpstreamFailure)]
        hopeless = [failure for failure in failures if not failure.retryable]
        if hopeless or len(failures) == len(waiting):
            raise (hopeless or failures)[0]
        unanswered = zip(waiting, answers, strict=True)
        waiting = [subject for subject, answer in unanswered if isinstance(answer, UpstreamFailure)]
    return found


async def _answer(ask: Callable[[S], Awaitable[list[R]]], subject: S) -> list[R] | UpstreamFailure:
    try:
        return await ask(subject)
    except UpstreamFailure as failure:
        return failure
