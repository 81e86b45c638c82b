"""From the way a handler ended to what is reported about its task."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic

from rolecall.model.next_tasks import NextTasks
from rolecall.model.outcomes import (
    Blocked,
    Cancel,
    Cancelled,
    Completed,
    Failed,
    Misfit,
    NoResult,
    Report,
    Snooze,
    Snoozed,
    WaitFor,
)
from rolecall.model.states import LostReason
from rolecall.sql.results import encode_result
from rolecall.worker.failure import judge
from rolecall.worker.held import Hands, Held
from rolecall.worker.program import Contract
from rolecall.worker.promises import keep
from rolecall.worker.settler import Settler
from rolecall.worker.unstored import failure_of

# A timeout is a failure of what has begun; the others lose their deadline with their claim.
GIVEN_BACK = frozenset({LostReason.SHUTDOWN, LostReason.DATABASE, LostReason.TIMEOUT})


class Outcomes:
    """Takes each task once: what comes after its abort was already dealt with is dropped."""

    __slots__ = ("_contracts", "_hands", "_intakes", "_settler")

    def __init__(
        self, settler: Settler, hands: Hands, contracts: Mapping[str, Contract], intakes: Mapping[str, str]
    ) -> None:
        self._settler = settler
        self._hands = hands
        self._contracts = contracts
        self._intakes = intakes

    def returned(self, held: Held, result: object, next_tasks: NextTasks | None = None) -> None:
        """The handler returned a result, a Snooze, a WaitFor, a Cancel, or (in a batch) an exception.

        What it asked for to come next counts only for a completed task.
        """
        if held.aborted is not None or held.settled or held.ended:
            self.aborted(held)
            return
        held.ended = True
        if next_tasks is not None or held.task.handler in self._contracts:
            result, next_tasks = self._as_promised(held.task.handler, result, next_tasks)
        held.report = _report(held, result, next_tasks, self._contracts.get(held.task.handler))
        self._settler.settle(held)

    def raised(self, held: Held, error: BaseException) -> None:
        """The handler raised."""
        if held.aborted is not None or held.settled or held.ended:
            self.aborted(held)
            return
        held.ended = True
        held.report = self._misfit(held, error) or _failure(held, error)
        self._settler.settle(held)

    def aborted(self, held: Held) -> None:
        """The handler of a task that must stop has ended, never began, or is not waited for any longer."""
        if held.ended:
            return
        held.ended = True
        if held.settled:
            self._settler.settled_by_handler(held)
            return
        held.report = _after_abort(held)
        if held.report is not None:
            self._settler.settle(held)
        elif held.aborted in GIVEN_BACK:
            self._settler.give_back([held])
        else:
            self._hands.drop([held])

    def _misfit(self, held: Held, error: BaseException) -> Misfit | None:
        task, verdict = held.task, judge(error)
        if not verdict.misfit:
            return None
        intake = self._intakes[task.handler]
        return Misfit(id=task.id, fence=task.fence, intake=intake, error=verdict.text)

    def _as_promised(
        self, handler: str, result: object, next_tasks: NextTasks | None
    ) -> tuple[object, NextTasks | None]:
        """Return the result with what follows it; or, in its place, the error that it is not what was promised."""
        if isinstance(result, NoResult | BaseException):
            return result, None
        try:
            return result, keep(self._contracts, handler, result, next_tasks)
        except Exception as error:  # noqa: BLE001 - what a handler's own rule raises belongs to its task
            return error, None


def _report(held: Held, result: object, next_tasks: NextTasks | None, contract: Contract | None) -> Report:
    task = held.task
    ran = monotonic() - held.began_at
    match result:
        case None:
            return Completed(id=task.id, fence=task.fence, ran=ran, next_tasks=next_tasks)
        case Snooze():
            return Snoozed(id=task.id, fence=task.fence, after=result.seconds, at=result.until, ran=ran)
        case WaitFor():
            return Blocked(id=task.id, fence=task.fence, needs=result.needs, ran=ran)
        case Cancel():
            return Cancelled(id=task.id, fence=task.fence, error=result.reason, ran=ran)
        case BaseException():
            return _failure(held, result)
        case _:
            text, why = encode_result(result)
            if why is not None and (error := failure_of(result, why, handler=task.handler, contract=contract)):
                return _failure(held, error)
            return Completed(
                id=task.id, fence=task.fence, result_json=text, unstored=why, ran=ran, next_tasks=next_tasks
            )


def _failure(held: Held, error: BaseException) -> Failed:
    task, verdict = held.task, judge(error)
    return Failed(
        id=task.id,
        fence=task.fence,
        error=verdict.text,
        final=verdict.final,
        after=verdict.after,
        at=verdict.at,
        ran=monotonic() - held.began_at,
    )


def _after_abort(held: Held) -> Report | None:
    task = held.task
    ran = monotonic() - held.began_at if held.began_at else 0.0
    match held.aborted:
        case LostReason.TIMEOUT if held.began_at:
            error = f"the handler did not finish within {task.timeout_seconds:g} s"
            return Failed(id=task.id, fence=task.fence, error=error, reason="timeout", ran=ran)
        case LostReason.CANCELLED:
            return Cancelled(id=task.id, fence=task.fence, error="cancelled while it was running", ran=ran)
        case _:
            return None
