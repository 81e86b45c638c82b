"""From the way a handler ended to what is reported about its task."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

from rolecall.model.errors import InvalidPayload, PermanentFailure
from rolecall.model.outcomes import Cancel, Cancelled, Completed, Failed, Report, Snooze, Snoozed
from rolecall.model.states import LostReason
from rolecall.model.tasks import NewTask
from rolecall.sql.results import encode_result
from rolecall.worker.failure import describe
from rolecall.worker.held import Hands, Held
from rolecall.worker.settler import Settler


class Outcomes:
    """Takes each task once: what comes after its abort was already dealt with is dropped."""

    __slots__ = ("_hands", "_settler")

    def __init__(self, settler: Settler, hands: Hands) -> None:
        self._settler = settler
        self._hands = hands

    def returned(self, held: Held, result: object, follow_ups: Sequence[NewTask] = ()) -> None:
        """The handler returned a result, a Snooze, a Cancel, or (in a batch) an exception.

        Follow-ups count only for a completed task.
        """
        if held.aborted is not None or held.settled or held.ended:
            self.aborted(held)
            return
        held.ended = True
        held.report = _report(held, result, follow_ups)
        self._settler.settle(held)

    def raised(self, held: Held, error: BaseException) -> None:
        """The handler raised."""
        if held.aborted is not None or held.settled or held.ended:
            self.aborted(held)
            return
        held.ended = True
        held.report = _failure(held, error)
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
        elif held.aborted is LostReason.SHUTDOWN:
            self._settler.give_back([held])
        else:
            self._hands.drop([held])


def _report(held: Held, result: object, follow_ups: Sequence[NewTask]) -> Report:
    task = held.task
    ran = monotonic() - held.began_at
    match result:
        case None:
            return Completed(id=task.id, fence=task.fence, ran=ran, follow_ups=follow_ups)
        case Snooze():
            return Snoozed(id=task.id, fence=task.fence, after=result.seconds, ran=ran)
        case Cancel():
            return Cancelled(id=task.id, fence=task.fence, error=result.reason, ran=ran)
        case BaseException():
            return _failure(held, result)
        case _:
            text = encode_result(result)
            return Completed(id=task.id, fence=task.fence, result_json=text, ran=ran, follow_ups=follow_ups)


def _failure(held: Held, error: BaseException) -> Failed:
    task = held.task
    if isinstance(error, InvalidPayload):
        return Failed(id=task.id, fence=task.fence, error=str(error), final=True)
    final = isinstance(error, PermanentFailure)
    ran = monotonic() - held.began_at
    return Failed(id=task.id, fence=task.fence, error=describe(error), ran=ran, final=final)


def _after_abort(held: Held) -> Report | None:
    task = held.task
    ran = monotonic() - held.began_at if held.began_at else 0.0
    match held.aborted:
        case LostReason.TIMEOUT:
            error = f"the handler did not finish within {task.timeout_seconds:g} s"
            return Failed(id=task.id, fence=task.fence, error=error, reason="timeout", ran=ran)
        case LostReason.CANCELLED:
            return Cancelled(id=task.id, fence=task.fence, error="cancelled while it was running", ran=ran)
        case _:
            return None
