"""From the way a handler ended to what is reported about its task: its result is held against what it
declared, and an exception becomes a text and a verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from inspect import isawaitable, iscoroutine
from itertools import chain
from types import MappingProxyType
from typing import Protocol

from rolecall.model.error_text import Scrub, describe, message_of
from rolecall.model.errors import ContractBroken, HandlerError, HandlerMissing, InvalidPayload, PermanentFailure, Retry
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
from rolecall.model.redaction import without
from rolecall.model.states import LostReason
from rolecall.model.tasks import ClaimedTask, NextTasks
from rolecall.sql.documents import encode_result
from rolecall.telemetry.tracing import Tracing
from rolecall.worker.events import WorkerEvents
from rolecall.worker.in_flight import HeldTask
from rolecall.worker.large import LargeFields
from rolecall.worker.program import Contract

# A timeout is a failure of a task that a slot has taken; the others lose their deadline with their claim.
GIVEN_BACK = frozenset({
    LostReason.SHUTDOWN, LostReason.DATABASE, LostReason.TIMEOUT, LostReason.OUT_OF_TURN,
})  # fmt: skip


class Writer(Protocol):
    """What stores the outcomes."""

    def add(self, held: HeldTask) -> None:
        """Take an ended task whose `report` stands."""

    def finished_by_handler(self, held: HeldTask) -> None:
        """Take a task whose end its handler's own transaction stored."""

    def give_back(self, held_tasks: Iterable[HeldTask]) -> None:
        """Take tasks that are to be claimable again."""

    def lost(self, held: HeldTask) -> None:
        """Take a task of which nothing is to be written any more."""


# The texts of a payload, as JSON, that nobody is to read.
SecretsIn = Callable[[str], Iterable[str]]


class Outcomes:
    """Takes each task once: what comes after its abort was already dealt with is dropped."""

    __slots__ = ("_completer", "_contracts", "_events", "_intakes", "_secrets", "_tracing")

    def __init__(
        self,
        completer: Writer,
        events: WorkerEvents,
        contracts: Mapping[str, Contract],
        intakes: Mapping[str, str],
        tracing: Tracing | None = None,
        secrets: Mapping[str, SecretsIn] = MappingProxyType({}),
    ) -> None:
        self._completer = completer
        self._events = events
        self._contracts = contracts
        self._intakes = intakes
        self._tracing = tracing
        self._secrets = secrets

    async def returned_large(
        self, held: HeldTask, result: object, next_tasks: NextTasks | None, large: LargeFields
    ) -> None:
        """Do as `returned` does, once what is large of what comes next is kept elsewhere."""
        if held.aborted is None and not held.committed and not held.ended:
            result, next_tasks = self._checked(held.task, result, next_tasks)
            next_tasks = await large.detach(next_tasks)
        self.returned(held, result, next_tasks, checked=True)

    def returned(
        self, held: HeldTask, result: object, next_tasks: NextTasks | None = None, *, checked: bool = False
    ) -> None:
        """The handler returned a result, a Snooze, a WaitFor, a Cancel, or (in a batch) an exception.

        What it asked for to come next counts only for a completed task; `checked`: it is what was declared.
        """
        if held.aborted is not None or held.committed or held.ended:
            self.aborted(held)
            return
        held.ended = True
        if not checked and (next_tasks is not None or held.task.handler in self._contracts):
            result, next_tasks = self._checked(held.task, result, next_tasks)
        if isinstance(result, BaseException):
            self._tell_if_invalid(held, result)
        held.report = self._report(held, result, next_tasks)
        if self._tracing is not None and next_tasks is not None and isinstance(held.report, Completed):
            self._tracing.following(next_tasks)
        self._add(held, [held])

    def raised(self, held: HeldTask, error: BaseException, together: Sequence[HeldTask] = ()) -> None:
        """The handler raised; the tasks of a batch are `together`, and an error may tell of any of them."""
        if held.aborted is not None or held.committed or held.ended:
            self.aborted(held)
            return
        held.ended = True
        self._tell_if_invalid(held, error)
        verdict = judge(error, self._scrub(together or [held]))
        held.report = self._misfit(held, verdict) or _failure(held, verdict)
        self._add(held, together or [held])

    def aborted(self, held: HeldTask) -> None:
        """The handler of a task that must stop has ended, never began, or is not waited for any longer."""
        if held.ended:
            return
        held.ended = True
        if held.committed:
            self._completer.finished_by_handler(held)
            return
        held.report = _after_abort(held)
        if held.report is not None:
            self._completer.add(held)
        elif held.aborted in GIVEN_BACK:
            self._completer.give_back([held])
        else:
            self._completer.lost(held)

    def _add(self, held: HeldTask, together: Sequence[HeldTask]) -> None:
        """Report an outcome; what its handler has in its error is told without what nobody is to read."""
        error = getattr(held.report, "error", "")
        if error and held.task.handler in self._secrets:
            held.report = replace(held.report, error=self._hushed(error, together))  # type: ignore[type-var]  # it is one with an error
        self._completer.add(held)

    def _hushed(self, text: str, together: Sequence[HeldTask]) -> str:
        secrets_in = self._secrets.get(together[0].task.handler)
        if secrets_in is None:
            return text
        return without((secret for held in together for secret in secrets_in(held.task.payload_json)), text)

    def _tell_if_invalid(self, held: HeldTask, error: BaseException) -> None:
        if isinstance(error, ContractBroken) or (isinstance(error, RaisedElsewhere) and error.verdict.invalid):
            self._events.invalid(held, self._hushed(message_of(error), [held]))

    def _scrub(self, together: Sequence[HeldTask]) -> Scrub:
        """Return what removes hidden values of these tasks from a text."""
        return partial(self._hushed, together=together) if together[0].task.handler in self._secrets else str

    def _misfit(self, held: HeldTask, verdict: Verdict) -> Misfit | None:
        if not verdict.misfit:
            return None
        task = held.task
        intake = self._intakes[task.handler]
        return Misfit(id=task.id, fence=task.fence, intake=intake, error=verdict.text)

    def _report(self, held: HeldTask, result: object, next_tasks: NextTasks | None) -> Report:
        task = held.task
        ran = held.ran
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
                return _failure(held, judge(result, self._scrub([held])))
            case _:
                text, why = encode_result(result)
                contract = self._contracts.get(task.handler)
                if why is not None and (
                    error := unstored_failure(result, why, handler=task.handler, contract=contract)
                ):
                    return _failure(held, judge(error, self._scrub([held])))
                return Completed(
                    id=task.id, fence=task.fence, result_json=text, unstored=why, ran=ran, next_tasks=next_tasks
                )

    def _checked(
        self, task: ClaimedTask, result: object, next_tasks: NextTasks | None
    ) -> tuple[object, NextTasks | None]:
        """Return the result as it is stored and the next tasks; the error in its place if it breaks the contract."""
        if isinstance(result, NoResult | BaseException):
            return result, None
        try:
            return check_contract(self._contracts, task, result, next_tasks)
        except BaseException as error:  # noqa: BLE001 - what a handler's own rule raises belongs to its task
            return error, None


def check_contract(
    contracts: Mapping[str, Contract], task: ClaimedTask, result: object, next_tasks: NextTasks | None
) -> tuple[object, NextTasks | None]:
    """Return a step's result as it is stored, and the next tasks.

    The next tasks are those that the step asked for, and those that its handler's rule makes of the result. Checks the
    step's end against its handler's contract, and the needs of the next tasks against their handlers' contracts. Only
    the last step owes a result. Raises ContractBroken and InvalidPayload.
    """
    following = NextTasks() if next_tasks is None else next_tasks
    contract = contracts.get(task.handler)
    stored = result
    if contract is not None and contract.gathers:
        following = next_tasks = replace(following, gathers=True)
    if contract is not None and not is_last_step(contract, task, next_tasks):
        contract.check_earlier_step(following.continuation)
    elif contract is not None:
        require_awaited(result, task.handler)
        stored = contract.write_result(result)
        contract.check_continuation(following.continuation)
        if derived := contract.follow_ups_of(result):
            following = next_tasks = replace(following, follow_ups=[*following.follow_ups, *derived])
    continuation = filter(None, [following.continuation])
    for new in chain(following.follow_ups, following.children, following.siblings, continuation):
        if (its_contract := contracts.get(new.handler or "")) is not None:
            its_contract.check_needs(new)
    return stored, next_tasks


def _failure(held: HeldTask, verdict: Verdict) -> Failed:
    task = held.task
    return Failed(
        id=task.id,
        fence=task.fence,
        error=verdict.text,
        final=verdict.final,
        after=verdict.after,
        at=verdict.at,
        ran=held.ran,
    )


def _after_abort(held: HeldTask) -> Report | None:
    task = held.task
    ran = held.ran
    match held.aborted:
        case LostReason.TIMEOUT if held.slot is not None:
            # Preparing the call may time out as well. A process that is never ready in time would otherwise be started
            # without end.
            what = "finish" if held.began_at else "begin"
            error = f"the handler did not {what} within {task.timeout_seconds:g} s"
            return Failed(id=task.id, fence=task.fence, error=error, reason="timeout", ran=ran)
        case LostReason.CANCELLED:
            return Cancelled(id=task.id, fence=task.fence, error="cancelled while it was running", ran=ran)
        case _:
            return None


def is_last_step(contract: Contract, task: ClaimedTask, next_tasks: NextTasks | None) -> bool:
    """Whether no other step follows, as far as the handler knows: it spawned no children, and has been gathered."""
    return not (next_tasks and next_tasks.children) and not (contract.gathers and not task.step)


def require_awaited(result: object, handler: str) -> None:
    """Raise TypeError for a result that is still to be awaited: the work has not been done."""
    if isawaitable(result):
        if iscoroutine(result):
            result.close()  # or Python complains of it at some other time and place
        raise TypeError(f"{handler!r} returned a {type(result).__name__} that nobody awaited: is an `await` missing?")


def unstored_failure(result: object, why: str, *, handler: str, contract: Contract | None) -> Exception | None:
    """Return the error of an attempt whose result cannot be stored; None if the task completes all the same.

    A result that was not awaited has not been computed, and a promised result must be there to be read.
    """
    try:
        require_awaited(result, handler)
    except TypeError as error:
        return error
    if contract is not None and contract.promises_result:
        problem = f"result of {handler!r} cannot be stored: {why}"
        return ContractBroken(problem, code="invalid_output", handler=handler, details={"problem": why})
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What an exception means for its task: the text to store, and when to try again, if not by the policy.

    `after` is in seconds; `final`: never again; `misfit`: it is a task for another release of the program; `invalid`:
    something is not what its handler declares.
    """

    text: str
    final: bool = False
    after: float | None = None
    at: datetime | None = None
    misfit: bool = False
    invalid: bool = False


class RaisedElsewhere(HandlerError):
    """A handler raised in a process of its own; what that means was decided there, where the error was."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.text)
        self.verdict = verdict


def judge(error: BaseException, scrub: Scrub = str) -> Verdict:
    """Decide what an exception that a handler raised means for its task.

    `scrub` removes hidden values from its text.
    """
    match error:
        case RaisedElsewhere():
            return error.verdict
        case InvalidPayload():
            return Verdict(text=scrub(message_of(error)), final=True, misfit=error.stored, invalid=True)
        case HandlerMissing():
            return Verdict(text=scrub(message_of(error)), invalid=True)
        case ContractBroken():
            # The work is done, and another attempt would end alike.
            return Verdict(text=scrub(message_of(error)), final=True, invalid=True)
        case Retry():
            return Verdict(text=describe(error.__cause__ or error, scrub), after=error.after, at=error.at)
        case PermanentFailure():
            return Verdict(text=describe(error if error.problem else error.__cause__ or error, scrub), final=True)
        case _:
            return Verdict(text=describe(error, scrub))
