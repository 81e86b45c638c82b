"""Runs SQL handlers: stored procedures whose work and completion commit in one transaction."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager

from psycopg.errors import Diagnostic

from rolecall.app.handlers import Middleware
from rolecall.db.run import run_async, translating_errors
from rolecall.model.errors import DatabaseUnavailable, HandlerAborted, HandlerError
from rolecall.model.handlers import ProcedureResult, StoredProcedure
from rolecall.model.outcomes import Failed
from rolecall.model.sqlstates import undoes_transaction
from rolecall.model.states import LostReason
from rolecall.sql import roles
from rolecall.worker.context import Context
from rolecall.worker.handler_services import Connection, HandlerServices
from rolecall.worker.in_flight import HeldTask, RunnerSlot
from rolecall.worker.outcomes import Outcomes
from rolecall.worker.runners import chain_middlewares

ACCEPTED_BEFORE = "already"


class ProcedureFailed(HandlerError):
    """A procedure raised an error. Its work was rolled back, and the failed attempt is already stored."""


class ProcedureRunner:
    """Runs the procedure on a connection of the handlers' pool. An abort cancels it in the database.

    While it runs, its session is named after the worker and the task, so that a rescue can end the session if this
    process dies.
    """

    interruptible = True
    max_tasks = 1

    def __init__(
        self,
        procedure: StoredProcedure,
        services: HandlerServices,
        outcomes: Outcomes,
        middlewares: Sequence[Middleware],
    ) -> None:
        self._procedure = procedure
        self._services = services
        self._outcomes = outcomes
        self._call = chain_middlewares(self._run, middlewares)

    async def run(self, held: HeldTask, slot: RunnerSlot) -> None:
        slot.occupy((held,))
        context = Context(held, self._services)
        try:
            async with self._lend_connection(held) as connection:
                # The outcome commits with the procedure, and must not be stored before its predecessor's.
                await self._services.in_flight.wait_for_turn(held)
                if held.must_record_start:
                    await slot.record_starts((held,))
                if not slot.begin((held,)):
                    self._outcomes.report_abort(held)
                    return
                result = await self._call(context, held, connection)
        except BaseException as error:  # noqa: BLE001 - whatever happens there belongs to the task
            self._outcomes.report_call_error(slot, error)
            return
        if held.abort_reason is not None:
            slot.absorb()
        self._outcomes.report_result(held, result, context.next_tasks)

    @asynccontextmanager
    async def _lend_connection(self, held: HeldTask) -> AsyncIterator[Connection]:
        async with AsyncExitStack() as stack:
            try:
                with translating_errors():
                    await self._services.pool.open()
                    connection = await stack.enter_async_context(self._services.pool.connection())
            except DatabaseUnavailable:
                held.abort_reason = held.abort_reason or LostReason.DATABASE
                raise
            yield connection

    async def _run(self, context: Context, held: HeldTask, connection: Connection) -> None:
        end = await self._call_procedure(held, context, connection)
        if end.lost is not None and end.lost != ACCEPTED_BEFORE:
            held.abort_reason = LostReason(end.lost)
            raise HandlerAborted(reason=held.abort_reason)
        held.is_committed = True
        if end.error is not None:
            held.report = Failed(id=held.task.id, fence=held.task.fence, error=end.error, ran=held.run_seconds)
            raise ProcedureFailed(end.error)

    async def _call_procedure(self, held: HeldTask, context: Context, connection: Connection) -> ProcedureResult:
        claim = (held.worker_id, held.task.id, held.task.fence)
        try:
            with translating_errors(), _logging_notices(connection, context):
                if self._procedure.has_before:
                    await run_async(connection, roles.run_before_hook(*claim))
                if self._services.events.needs_end_events:
                    held.collector = self._services.events.collector([held])
                return await run_async(connection, roles.run_procedure(*claim), held.collector)
        except DatabaseUnavailable as error:
            if undoes_transaction(error.sqlstate):
                # The task did nothing wrong, and its work was rolled back.
                held.began_at = 0.0
                held.abort_reason = held.abort_reason or LostReason.DATABASE
            raise


@contextmanager
def _logging_notices(connection: Connection, context: Context) -> Iterator[None]:
    """Log the procedure's notices. A hook that fails only causes a warning."""

    def log_notice(notice: Diagnostic) -> None:
        level = logging.WARNING if notice.severity_nonlocalized == "WARNING" else logging.DEBUG
        context.log.log(level, "%s", notice.message_primary)

    connection.add_notice_handler(log_notice)
    try:
        yield
    finally:
        connection.remove_notice_handler(log_notice)
