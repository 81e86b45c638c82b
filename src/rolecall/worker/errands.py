"""What a worker and a process that runs handlers and functions for it say to each other."""

from __future__ import annotations

from dataclasses import dataclass

from rolecall.model.outcomes import NoResult
from rolecall.model.tasks import ClaimedTask
from rolecall.worker.addresses import Address
from rolecall.worker.failure import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """Run this task with the handler that stands there."""

    address: Address
    task: ClaimedTask
    strict: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Call the function that stands there, for a handler that waits for it in the worker."""

    address: Address
    arguments: tuple[object, ...]
    named: dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """The handler returned a result, here as JSON text."""

    result_json: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Declined:
    """The handler returned what stands for no result."""

    outcome: NoResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """The handler or function raised, could not be found or called, or returned what cannot be handed over."""

    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Gave:
    """The function returned this object."""

    pickled: bytes


Answer = Returned | Declined | Raised | Gave
