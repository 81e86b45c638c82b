"""Turns a handler's result or error into the report of its task, and checks the result against the contract."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import isawaitable, iscoroutine
from itertools import chain
from types import MappingProxyType
from typing import Protocol

from rolecall.model.error_text import Scrub, message_of
from rolecall.model.errors import ContractBroken
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
    StoredElsewhere,
    WaitFor,
)
from rolecall.model.redaction import redact_text
from rolecall.model.states import LostReason
from rolecall.model.tasks import ClaimedTask, NewTask, NextTasks
from rolecall.sql.encoding import encode_result
from rolecall.telemetry.tracing import Tracing
from rolecall.worker.events import WorkerEvents
from rolecall.worker.in_flight import HeldTask, RunnerSlot
from rolecall.worker.large import LargeFields
from rolecall.worker.program import Contract
from rolecall.worker.verdicts import RaisedElsewhere, Verdict, judge

# A timeout counts as a failure only if a slot has taken the task; other tasks lose their deadline with their claim.
GIVEN_BACK = frozenset({
    LostReason.SHUTDOWN, LostReason.DATABASE, LostReason.TIMEOUT, LostReason.OUT_OF_TURN,
})  # fmt: skip


class Writer(Protocol):
    """Stores outcomes, such as the completer."""

    def add(self, held: HeldTask) -> None:
        """Queue the report of a finished task."""

    def store_own_completion(self, held: HeldTask) -> None:
        """Process a task that its handler's own transaction has finished."""

    def give_back(self, held_tasks: Iterable[HeldTask]) -> None:
        """Give tasks back, so that they can be claimed again."""

    def drop_lost(self, held: HeldTask) -> None:
        """Drop a task whose claim is lost."""


# Returns the redacted texts of a payload, given as JSON.
SecretsIn = Callable[[str], Iterable[str]]


class Outcomes:
    """Reports each task once. Results that arrive after the task was reported as aborted are dropped."""

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

    async def report_return(
        self, slot: RunnerSlot, held: HeldTask, result: object, next_tasks: NextTasks | None, large: LargeFields
    ) -> None:
        """Report what a handler returned. If storing its large fields fails, the attempt fails."""
        if large.store is None:
            self.report_result(held, result, next_tasks)
            return
        try:
            if held.abort_reason is None and not held.is_committed and not held.has_ended:
                result, next_tasks = self._check(held.task, result, next_tasks)
                next_tasks = await large.detach(next_tasks)
            self.report_result(held, result, next_tasks, checked=True)
        except Exception as error:  # noqa: BLE001 - a store's own code may raise anything
            self.report_error(held, error)
        except BaseException as error:  # noqa: BLE001 - the slot's end, or an abort
            self.report_call_error(slot, error)

    def report_result(
        self, held: HeldTask, result: object, next_tasks: NextTasks | None = None, *, checked: bool = False
    ) -> None:
        """Report what a handler returned: a result, Snooze, WaitFor, Cancel or (in a batch) an exception.

        Next tasks count only if the task completes. `checked`: they were already checked against the contract.
        """
        if held.abort_reason is not None or held.is_committed or held.has_ended:
            self.report_abort(held)
            return
        held.has_ended = True
        if not checked and (next_tasks is not None or held.task.handler in self._contracts):
            result, next_tasks = self._check(held.task, result, next_tasks)
        if isinstance(result, BaseException):
            self._emit_if_invalid(held, result)
        held.report = self._report(held, result, next_tasks)
        if self._tracing is not None and next_tasks is not None and isinstance(held.report, Completed):
            self._tracing.trace_next(next_tasks)
        if held.task.handler in self._secrets:
            self._redact_report(held, [held])
        self._completer.add(held)

    def report_error(self, held: HeldTask, error: BaseException, together: Sequence[HeldTask] = ()) -> None:
        if held.abort_reason is not None or held.is_committed or held.has_ended:
            self.report_abort(held)
            return
        held.has_ended = True
        self._emit_if_invalid(held, error)
        verdict = judge(error, self._scrub(together or [held]))
        held.report = self._misfit(held, verdict) or _failure(held, verdict)
        if held.task.handler in self._secrets:
            self._redact_report(held, together or [held])
        self._completer.add(held)

    def report_call_error(self, slot: RunnerSlot, error: BaseException) -> None:
        """Report an error for all tasks of the call without an outcome; re-raise the cancellation of the slot."""
        unfinished = [held for held in slot.running_tasks if not held.has_ended]
        if isinstance(error, asyncio.CancelledError) and not slot.absorb():
            for held in unfinished:
                held.abort_reason = LostReason.SHUTDOWN
                self.report_abort(held)
            raise error
        slot.absorb()
        for held in unfinished:
            self.report_error(held, error, slot.running_tasks)

    def report_abort(self, held: HeldTask) -> None:
        """Report a task that must stop, when its handler has ended, was never called, or is no longer awaited."""
        if held.has_ended:
            return
        held.has_ended = True
        if held.is_committed:
            self._completer.store_own_completion(held)
            return
        held.report = _after_abort(held)
        if held.report is not None:
            self._completer.add(held)
        elif held.abort_reason in GIVEN_BACK:
            self._completer.give_back([held])
        else:
            self._completer.drop_lost(held)

    def _redact_report(self, held: HeldTask, together: Sequence[HeldTask]) -> None:
        if error := getattr(held.report, "error", ""):
            held.report = replace(held.report, error=self._redact(error, together))  # type: ignore[type-var]  # only reports with an error get here

    def _redact(self, text: str, together: Sequence[HeldTask]) -> str:
        secrets_in = self._secrets.get(together[0].task.handler)
        if secrets_in is None:
            return text
        return redact_text((secret for held in together for secret in secrets_in(held.task.payload_json)), text)

    def _emit_if_invalid(self, held: HeldTask, error: BaseException) -> None:
        if isinstance(error, ContractBroken) or (isinstance(error, RaisedElsewhere) and error.verdict.invalid):
            self._events.emit_invalid(held, self._redact(message_of(error), [held]))

    def _scrub(self, together: Sequence[HeldTask]) -> Scrub:
        return partial(self._redact, together=together) if together[0].task.handler in self._secrets else str

    def _misfit(self, held: HeldTask, verdict: Verdict) -> Misfit | None:
        if not verdict.misfit:
            return None
        task = held.task
        intake = self._intakes[task.handler]
        return Misfit(id=task.id, fence=task.fence, intake=intake, error=verdict.text)

    def _report(self, held: HeldTask, result: object, next_tasks: NextTasks | None) -> Report:
        task = held.task
        ran = held.run_seconds
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

    def _check(
        self, task: ClaimedTask, result: object, next_tasks: NextTasks | None
    ) -> tuple[object, NextTasks | None]:
        if isinstance(result, NoResult | BaseException):
            return result, None
        try:
            return check_contract(self._contracts, task, result, next_tasks)
        except BaseException as error:  # noqa: BLE001 - an error of the handler's rule belongs to its task
            return error, None


def check_contract(
    contracts: Mapping[str, Contract], task: ClaimedTask, result: object, next_tasks: NextTasks | None
) -> tuple[object, NextTasks | None]:
    """Check the end of a step against the contracts; return its result as it is stored, and the next tasks.

    The next tasks are those that the step requested, and those that its handler's rule derives from the result.
    Their needs are checked as well. Only the last step must have a result. Raises ContractBroken and
    InvalidPayload. An error of the rule fails the attempt.
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
        derived: Sequence[NewTask] = ()
        stored = result if contract.returns is None else contract.returns.write(result)
        if contract.must_continue or following.continuation is not None:
            contract.check_continuation(following.continuation)
        if contract.then is not None:
            derived = tuple(contract.then(result.whole if isinstance(result, StoredElsewhere) else result))
        if derived:
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
        ran=held.run_seconds,
    )


def _after_abort(held: HeldTask) -> Report | None:
    task = held.task
    ran = held.run_seconds
    match held.abort_reason:
        case LostReason.TIMEOUT if held.slot is not None:
            # The preparation of a call can time out as well. Otherwise a process that is never ready in time would
            # be started again and again.
            what = "finish" if held.began_at else "begin"
            error = f"the handler did not {what} within {task.timeout_seconds:g} s"
            return Failed(id=task.id, fence=task.fence, error=error, reason="timeout", ran=ran)
        case LostReason.CANCELLED:
            return Cancelled(id=task.id, fence=task.fence, error="cancelled while it was running", ran=ran)
        case _:
            return None


def is_last_step(contract: Contract, task: ClaimedTask, next_tasks: NextTasks | None) -> bool:
    """Return whether no other step follows: it spawned no children, and a gather step has run if there is one."""
    return not (next_tasks and next_tasks.children) and not (contract.gathers and not task.step)


def require_awaited(result: object, handler: str) -> None:
    """Raise TypeError for an awaitable result, because its work has not been done."""
    if isawaitable(result):
        if iscoroutine(result):
            result.close()  # prevents the warning that it was never awaited
        raise TypeError(f"{handler!r} returned a {type(result).__name__} that was not awaited: is an `await` missing?")


def unstored_failure(result: object, why: str, *, handler: str, contract: Contract | None) -> Exception | None:
    """Return the error of an attempt whose result cannot be stored; None if the task completes without it.

    It is an error if the result is an awaitable, or if the handler declares the type of its result.
    """
    try:
        require_awaited(result, handler)
    except TypeError as error:
        return error
    if contract is not None and contract.returns is not None:
        problem = f"result of {handler!r} cannot be stored: {why}"
        return ContractBroken(problem, code="invalid_output", handler=handler, details={"problem": why})
    return None
