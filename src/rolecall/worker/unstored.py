"""What becomes of a result that cannot be stored: mostly a marker in its place and a warning, sometimes a failure."""

from __future__ import annotations

from inspect import isawaitable, iscoroutine

from rolecall.model.errors import ContractBroken
from rolecall.worker.program import Contract

__all__ = ["failure_of"]


def failure_of(result: object, why: str, *, handler: str, contract: Contract | None) -> Exception | None:
    """Return why an attempt with such a result has failed; None where it has completed all the same.

    What was never awaited has not been done, and a promised result is there to be read.
    """
    if isawaitable(result):
        if iscoroutine(result):
            result.close()  # or Python complains of it at some other time and place
        return TypeError(f"{handler!r} returned a {type(result).__name__} that nobody awaited: is an `await` missing?")
    if contract is not None and contract.promises_result:
        problem = f"result of {handler!r} cannot be stored: {why}"
        return ContractBroken(problem, code="invalid_output", handler=handler, details={"problem": why})
    return None
