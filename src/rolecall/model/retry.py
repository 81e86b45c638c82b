"""Retry policies: values that the database applies when an attempt fails."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from enum import StrEnum


class RetryKind(StrEnum):
    """How the delay before the next attempt grows."""

    NONE = "none"
    LINEAR = "linear"
    EXPONENTIAL = "exponential"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """The delay before the next attempt. Create one with the functions below.

    All durations are in seconds: `first` is the delay after the first failure and `factor` its growth (exponential),
    `step` the increase per attempt (linear), and `cap` the longest delay. `jitter` is a share of the delay (0 to 1).
    The number of attempts is not part of the policy; see `max_attempts`.
    """

    kind: RetryKind
    first: float = 0.0
    factor: float = 1.0
    step: float = 0.0
    cap: float = 0.0
    jitter: float = 0.0

    def __post_init__(self) -> None:
        for name in ("first", "factor", "step", "cap", "jitter"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} must be a finite number of at least 0, not {value!r}")
        if self.jitter > 1:
            raise ValueError(f"jitter must be at most 1, not {self.jitter!r}")

    def to_json(self) -> dict[str, object]:
        """Return the policy in the form that the database stores."""
        return asdict(self) | {"kind": self.kind.value}


def no_retry() -> RetryPolicy:
    """Fail the task after its first failed attempt."""
    return RetryPolicy(kind=RetryKind.NONE)


def immediate() -> RetryPolicy:
    """Retry without a delay."""
    return RetryPolicy(kind=RetryKind.LINEAR)


def linear(*, step: float = 5.0, cap: float = 60.0, jitter: float = 0.0) -> RetryPolicy:
    """Wait `min(cap, step * attempt)` seconds."""
    return RetryPolicy(kind=RetryKind.LINEAR, step=step, cap=cap, jitter=jitter)


def exponential(*, first: float = 10.0, factor: float = 2.0, cap: float = 300.0, jitter: float = 0.1) -> RetryPolicy:
    """Wait `min(cap, first * factor ** (attempt - 1))` seconds, plus or minus the jitter."""
    return RetryPolicy(kind=RetryKind.EXPONENTIAL, first=first, factor=factor, cap=cap, jitter=jitter)
