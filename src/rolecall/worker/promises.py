"""Holds the end of a step against what its handler promised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain

from rolecall.model.next_tasks import NextTasks
from rolecall.worker.program import Contract

__all__ = ["keep"]


def keep(
    contracts: Mapping[str, Contract], handler: str, result: object, next_tasks: NextTasks | None
) -> NextTasks | None:
    """Return what comes after a step: what it asked for, and what its handler's rule makes of the result.

    Checks the step's end against what its handler promised, and what comes against what that must need. A step
    that leaves children is not the last: it owes no result yet. Raises ContractBroken and InvalidPayload.
    """
    asked = NextTasks() if next_tasks is None else next_tasks
    contract = contracts.get(handler)
    if contract is not None and not asked.children:
        contract.check_result(result)
        contract.check_continuation(asked.continuation)
        if derived := contract.follow_ups_of(result):
            asked = next_tasks = replace(asked, follow_ups=[*asked.follow_ups, *derived])
    for task in chain(asked.follow_ups, asked.children, asked.siblings, filter(None, [asked.continuation])):
        if (its_own := contracts.get(task.handler or "")) is not None:
            its_own.check_needs(task)
    return next_tasks
