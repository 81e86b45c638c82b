"""What a worker and a process that runs a handler for it say to each other."""

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
    """The handler raised, or could not be found or called."""

    verdict: Verdict


Answer = Returned | Declined | Raised
