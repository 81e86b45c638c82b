"""The ways to run a handler: on the loop, in the slot's thread, in a child process, or once for a batch of tasks.

Each runner occupies its slot, prepares the call, and calls `slot.begin`: from there on the attempt counts
(`rolecall.worker.slot`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from rolecall.app.handlers import Middleware
from rolecall.model.errors import PermanentFailure, RolecallError
from rolecall.model.handlers import StoredProcedure
from rolecall.model.large import ELSEWHERE
from rolecall.model.outcomes import NoResult
from rolecall.sql import roles
from rolecall.worker.context import BatchContext, Context
from rolecall.worker.handler_services import HandlerServices
from rolecall.worker.in_flight import HeldTask, Runner, RunnerSlot
from rolecall.worker.outcomes import Outcomes
from rolecall.worker.program import Callee, Handler
from rolecall.worker.session import DatabaseSession
from rolecall.worker.subprocess.pool import InProcess, Processes

# The first argument is the attempt's context; the others depend on the runner.
Call = Callable[..., Awaitable[Any]]


class HandlerRegistry:
    """The runners of claimed tasks; `names` are the handlers to claim for.

    `runners`: by handler, and whether the task's children have finished (its gather step runs then). Procedures that
    are created while the worker runs are added by `refresh`. A handler of the program takes precedence over a
    procedure of the same name.
    """

    def __init__(
        self, runners: Mapping[tuple[str, bool], Runner], runner_for: Callable[[StoredProcedure], Runner]
    ) -> None:
        self._own = tuple(dict.fromkeys(name for name, _ in runners))
        self._runner_for = runner_for
        # Runners are added and replaced, never removed: a claim in progress may still return their tasks.
        self.runners = dict(runners)
        self._procedures: dict[str, StoredProcedure] = {}
        self.names = self._own

    @property
    def procedures(self) -> Mapping[str, StoredProcedure]:
        return MappingProxyType(self._procedures)

    async def refresh(self, session: DatabaseSession) -> bool:
        """Read the stored procedures; return whether the names have changed."""
        stored = await session.run(roles.known_procedures())
        known = {procedure.name: procedure for procedure in stored if procedure.name not in self._own}
        for name, procedure in known.items():
            if self._procedures.get(name) != procedure:
                self.runners[name, False] = self.runners[name, True] = self._runner_for(procedure)
        before, self._procedures, self.names = self.names, known, (*self._own, *known)
        return self.names != before


def runner_for(
    handler: Handler,
    services: HandlerServices,
    outcomes: Outcomes,
    *,
    processes: Processes,
    middlewares: Sequence[Middleware] = (),
) -> Runner:
    """Create the runner that fits a handler's declaration, with the middlewares around the handler."""
    if handler.process:
        return ProcessRunner(handler, processes, services, outcomes, middlewares)
    if handler.batch is not None:
        return BatchRunner(handler, services, outcomes, middlewares)
    if handler.is_async:
        return AsyncRunner(handler, services, outcomes, middlewares)
    return ThreadRunner(handler, services, outcomes, middlewares)


class AsyncRunner:
    """Awaits the handler in the slot."""

    interruptible = True
    max_tasks = 1

    def __init__(
        self, handler: Callee, services: HandlerServices, outcomes: Outcomes, middlewares: Sequence[Middleware]
    ) -> None:
        self._decode = handler.decode
        self._call = chain_middlewares(handler.call, middlewares)
        self._takes_context = handler.takes_context or bool(middlewares)
        self._services = services
        self._outcomes = outcomes

    async def run(self, held: HeldTask, slot: RunnerSlot) -> None:
        slot.occupy((held,))
        context = Context(held, self._services) if self._takes_context else None
        try:
            if ELSEWHERE in held.task.payload_json:
                await self._services.large.attach(held)
            if held.must_record_start:
                await slot.record_starts((held,))
            if not slot.begin((held,)):
                self._outcomes.report_abort(held)
                return
            result = await self._call(context, self._decode(held.task.payload_json))
        except BaseException as error:  # noqa: BLE001 - whatever a handler raises belongs to its task
            self._outcomes.report_call_error(slot, error)
            return
        if held.abort_reason is not None:
            slot.absorb()
        next_tasks = None if context is None else context.next_tasks
        await self._outcomes.report_return(slot, held, result, next_tasks, self._services.large)


class ThreadRunner:
    """Calls the handler in the slot's thread. The handler learns of an abort only through its context."""

    interruptible = False
    max_tasks = 1

    def __init__(
        self, handler: Handler, services: HandlerServices, outcomes: Outcomes, middlewares: Sequence[Middleware]
    ) -> None:
        self._decode = handler.decode
        self._handle = handler.call
        self._call = chain_middlewares(self._call_in_thread, middlewares)
        self._services = services
        self._outcomes = outcomes

    async def run(self, held: HeldTask, slot: RunnerSlot) -> None:
        slot.occupy((held,))
        context = Context(held, self._services)
        try:
            if ELSEWHERE in held.task.payload_json:
                await self._services.large.attach(held)
            if held.must_record_start:
                await slot.record_starts((held,))
            if not slot.begin((held,)):
                self._outcomes.report_abort(held)
                return
            arguments = self._decode(held.task.payload_json)
            result = await self._call(context, slot, arguments)
        except BaseException as error:  # noqa: BLE001 - whatever a handler raises belongs to its task
            self._outcomes.report_call_error(slot, error)
            return
        await self._outcomes.report_return(slot, held, result, context.next_tasks, self._services.large)

    def _call_in_thread(self, context: Context, slot: RunnerSlot, arguments: dict[str, Any]) -> Awaitable[Any]:
        return slot.call_in_thread(self._handle, context, arguments)


class ProcessRunner:
    """Runs the handler in a child process. The attempt starts when that process is ready to call it."""

    interruptible = True
    max_tasks = 1

    def __init__(  # sizes: the arguments of every runner, and the processes
        self,
        handler: Handler,
        processes: Processes,
        services: HandlerServices,
        outcomes: Outcomes,
        middlewares: Sequence[Middleware],
    ) -> None:
        self._handler = InProcess(handler, processes)
        self._processes = processes
        self._call = chain_middlewares(self._handler.call, middlewares)
        self._services = services
        self._outcomes = outcomes

    async def run(self, held: HeldTask, slot: RunnerSlot) -> None:
        slot.occupy((held,))
        context = Context(held, self._services)
        try:
            if ELSEWHERE in held.task.payload_json:
                await self._services.large.attach(held)
            async with self._processes.lend() as process:
                await self._handler.prepare(process, context)
                await slot.record_starts((held,))
                if not slot.begin((held,)):
                    self._outcomes.report_abort(held)
                    return
                result = await self._call(context, process)
        except BaseException as error:  # noqa: BLE001 - whatever a handler raises belongs to its task
            self._outcomes.report_call_error(slot, error)
            return
        if held.abort_reason is not None:
            slot.absorb()
        await self._outcomes.report_return(slot, held, result, context.next_tasks, self._services.large)


class BatchRunner:
    """Calls the handler once for the tasks that are available. Each task still has its own outcome."""

    def __init__(
        self, handler: Handler, services: HandlerServices, outcomes: Outcomes, middlewares: Sequence[Middleware]
    ) -> None:
        self._handler = handler
        self._is_async = handler.is_async
        self._call = chain_middlewares(self._call_for_all, middlewares)
        self._services = services
        self._outcomes = outcomes
        self.interruptible = self._is_async
        self.max_tasks = handler.batch or 1

    async def run(self, held: HeldTask, slot: RunnerSlot) -> None:
        held_tasks = [held, *slot.take_like(held, self.max_tasks - 1)]
        slot.occupy(held_tasks)
        try:
            fetched = await self._fetch(held_tasks)
            await slot.record_starts(each for each in fetched if each.must_record_start)
            started = slot.begin(fetched)
            for aborted_task in fetched:
                if aborted_task not in started:
                    self._outcomes.report_abort(aborted_task)
            items = self._decode(started)
        except asyncio.CancelledError as error:
            self._outcomes.report_call_error(slot, error)
            return
        if not items:
            return
        fit = list(items)
        contexts = [Context(held_task, self._services) for held_task in fit]
        try:
            results = await self._call(BatchContext(contexts, self._services), slot, list(items.values()))
            outcomes = results_per_task(results, len(fit))
        except BaseException as error:  # noqa: BLE001 - whatever a handler raises belongs to its tasks
            self._outcomes.report_call_error(slot, error)
            return
        slot.absorb()
        for held_task, context, outcome in zip(fit, contexts, outcomes, strict=True):
            await self._outcomes.report_return(slot, held_task, outcome, context.next_tasks, self._services.large)

    async def _fetch(self, held_tasks: Sequence[HeldTask]) -> list[HeldTask]:
        fetched = []
        for held in held_tasks:
            try:
                if ELSEWHERE in held.task.payload_json:
                    await self._services.large.attach(held)
                fetched.append(held)
            except Exception as error:  # noqa: BLE001 - one task's payload is no other task's problem
                self._outcomes.report_error(held, error)
        return fetched

    def _decode(self, begun: Sequence[HeldTask]) -> dict[HeldTask, Any]:
        items = {}
        for held in begun:
            try:
                items[held] = self._handler.decode(held.task.payload_json)
            except asyncio.CancelledError:
                raise
            except BaseException as error:  # noqa: BLE001 - one task's payload is no other task's problem
                self._outcomes.report_error(held, error)
        return items

    async def _call_for_all(self, context: BatchContext, slot: RunnerSlot, items: list[Any]) -> Any:
        if self._is_async:
            return await self._handler.call_batch(context, items)
        return await slot.call_in_thread(self._handler.call_batch, context, items)


class WrongResults(RolecallError):
    """A batch handler returned something other than None or one result per task."""


def results_per_task(results: object, number: int) -> Sequence[object]:
    """Return the result of each task of a batch; raise WrongResults if their number does not match."""
    if results is None or isinstance(results, NoResult):
        return [results] * number
    if not isinstance(results, list | tuple) or len(results) != number:
        got = f"{len(results)} results" if isinstance(results, list | tuple) else type(results).__name__
        raise WrongResults(f"a batch handler must return None or one result per item, got {got} for {number} items")
    return results


def chain_middlewares(call: Call, middlewares: Sequence[Middleware]) -> Call:
    """Return the call inside its middlewares, the first outermost."""
    for middleware in reversed(middlewares):
        call = _around(middleware, call)
    return call


def _around(middleware: Middleware, inner: Call) -> Call:
    async def outer(context: Any, *arguments: Any) -> Any:
        return await middleware(context, lambda: inner(context, *arguments))

    return outer


@dataclass(frozen=True, slots=True)
class NoGather:
    """Replaces the gather step of a handler that no longer has one, and fails its tasks."""

    handler: str
    takes_context: bool = False

    def decode(self, payload_json: str | bytes) -> str | bytes:
        """Return the payload unchanged."""
        return payload_json

    async def call(self, _context: object, _payload: object) -> Any:
        """Fail the task permanently."""
        raise PermanentFailure(
            f"the children have finished, but handler {self.handler!r} has no gather step (any more)"
        )
