"""What a duty is: a name, how often, and one run that says in a word what it did."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from rolecall.sql.statement import Statement

T = TypeVar("T")


class Runs(Protocol):
    """Whatever runs a statement and returns its answer."""

    async def run(self, statement: Statement[T]) -> T:
        """Run it; whether an unreachable database raises is for the implementation to say."""


RunOnce = Callable[[Runs], Awaitable[str | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Duty:
    """`run_once` returns one line about what it did, None if there was nothing to do."""

    name: str
    every: float
    run_once: RunOnce
