"""The failure dial: whether and how a request fails depends only on its number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from storecrawl.demo.upstream.draws import Draw, WeightedValues

LONGEST_SLOW_SECONDS = 600.0
DAY_SECONDS = 86_400


class FaultKind(StrEnum):
    """The kinds of failures."""

    BLOCKED = "blocked"
    RATE_LIMITED = "rate_limited"
    UNAVAILABLE = "unavailable"
    ERRORS = "errors"
    EMPTY_PAGE = "empty_page"
    SCHEMA_DRIFT = "schema_drift"
    FOREIGN_REDIRECT = "foreign_redirect"
    SLOW = "slow"
    CUT = "cut"
    TRUNCATED = "truncated"
    ROTATED = "rotated"


WEB_FAULTS = frozenset(
    {
        FaultKind.BLOCKED,
        FaultKind.RATE_LIMITED,
        FaultKind.UNAVAILABLE,
        FaultKind.FOREIGN_REDIRECT,
        FaultKind.SLOW,
        FaultKind.CUT,
    }
)
"""Faults that any request can have; the other kinds only apply to certain requests, since they change the response."""
ANSWER_FAULTS = WEB_FAULTS | {FaultKind.ERRORS, FaultKind.SCHEMA_DRIFT}
FIRST_PAGE_FAULTS = frozenset({FaultKind.EMPTY_PAGE, FaultKind.TRUNCATED})
HASH_FAULTS = frozenset({FaultKind.ROTATED})


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultDial:
    """The share of failing requests (`failure_rate`, 0 to 1) and the weights of the kinds.

    A kind without a weight does not occur. TRUNCATED serves the beginning of a menu as a whole one, ROTATED forgets
    every persisted-query hash. `slow_seconds` is the delay of a slow response, `retry_after_seconds` that of a 429.
    """

    failure_rate: float = 0.0
    weights: Mapping[FaultKind, float] = field(default_factory=lambda: dict.fromkeys(FaultKind, 1.0))
    slow_seconds: float = 2.0
    retry_after_seconds: int = 1

    def __post_init__(self) -> None:
        if not 0.0 <= self.failure_rate <= 1.0:
            raise ValueError(f"failure_rate must be between 0 and 1, not {self.failure_rate}")
        if any(not 0.0 <= weight < float("inf") for weight in self.weights.values()):
            raise ValueError("the weights of failures must be finite and not negative")
        if not 0.0 <= self.slow_seconds <= LONGEST_SLOW_SECONDS:
            raise ValueError(f"slow_seconds must be between 0 and {LONGEST_SLOW_SECONDS}, not {self.slow_seconds}")
        if not 0 <= self.retry_after_seconds <= DAY_SECONDS:
            raise ValueError(f"retry_after_seconds must be between 0 and {DAY_SECONDS}, not {self.retry_after_seconds}")


class FaultPlan:
    """Numbers requests, picks their faults, and counts both."""

    def __init__(self, seed: int, dial: FaultDial) -> None:
        self.dial = dial
        self.requests: Counter[str] = Counter()
        self.faults: Counter[FaultKind] = Counter()
        self._seed = seed

    def next_fault(self, operation: str, possible: Collection[FaultKind]) -> FaultKind | None:
        """Count a request; return which of the possible faults it has, if any."""
        self.requests[operation] += 1
        draw = Draw(self._seed, "fault", self.requests.total())
        if not draw.chance(self.dial.failure_rate):
            return None
        weights = {kind: weight for kind, weight in self.dial.weights.items() if weight > 0.0 and kind in possible}
        if not weights:
            return None
        fault = draw.pick_weighted(WeightedValues(weights))
        self.faults[fault] += 1
        return fault
