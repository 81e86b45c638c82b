"""Runs handlers that are procedures of the database: the work and its end are one transaction there."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import monotonic

from psycopg.errors import Diagnostic

from rolecall.app.handlers import Middleware
from rolecall.db.run import run_async, translated
from rolecall.model.errors import DatabaseUnavailable, HandlerAborted, HandlerError
from rolecall.model.handlers import ProcedureEnd, StoredProcedure
from rolecall.model.outcomes import Failed
from rolecall.model.states import LostReason
from rolecall.sql import roles
from rolecall.worker.context import Context
from rolecall.worker.handler_services import Connection, HandlerServices
from rolecall.worker.in_flight import HeldTask, RunnerSlot
from rolecall.worker.outcomes import Outcomes
from rolecall.worker.runners import chain_middlewares, report_error

ACCEPTED_BEFORE = "already"
# The server stopped, or recovered from another session's crash: this task did nothing wrong, and is undone.
SERVER_STOPPED = frozenset({"57P01", "57P02", "57P03"})


class ProcedureFailed(HandlerError):
    """A procedure raised; what it did is undone and the failed attempt is stored already."""


class ProcedureRunner:
    """Awaits the procedure on a connection of the handlers' pool; an abort cancels it in the database.

    The database names its session after worker and task while it runs, so that `rescue` can end the session
    if this process dies over it.
    """

    interruptible = True
    most = 1

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
        slot.begin((held,))
        context = Context(held, self._services)
        try:
            result = await self._call(context, held)
        except BaseException as error:  # noqa: BLE001 - whatever happens there belongs to the task
            report_error(self._outcomes, slot, error)
            return
        if held.aborted is not None:
            slot.absorb()
        self._outcomes.returned(held, result, context.next_tasks)

    async def _run(self, context: Context, held: HeldTask) -> None:
        end = await self._end_of(held, context)
        if end.lost is not None and end.lost != ACCEPTED_BEFORE:
            held.aborted = LostReason(end.lost)
            raise HandlerAborted(reason=held.aborted)
        held.committed = True
        if end.error is not None:
            ran = monotonic() - held.began_at
            held.report = Failed(id=held.task.id, fence=held.task.fence, error=end.error, ran=ran)
            raise ProcedureFailed(end.error)

    async def _end_of(self, held: HeldTask, context: Context) -> ProcedureEnd:
        claim = (held.worker_id, held.task.id, held.task.fence)
        begun = False
        try:
            with translated():
                await self._services.pool.open()
                async with self._services.pool.connection() as connection:
                    with _notices_logged(connection, context):
                        if self._procedure.has_before:
                            await run_async(connection, roles.run_before_hook(*claim))
                        begun = True
                        # Its outcome commits with it, and must not be stored before its predecessor's.
                        await self._services.in_flight.wait_for_turn(held)
                        if self._services.events.asks_for_ends:
                            held.collector = self._services.events.collector([held])
                        return await run_async(connection, roles.run_procedure(*claim), held.collector)
        except DatabaseUnavailable as error:
            if not begun or error.sqlstate in SERVER_STOPPED:
                held.began_at = 0.0
                held.aborted = held.aborted or LostReason.DATABASE
            raise


@contextmanager
def _notices_logged(connection: Connection, context: Context) -> Iterator[None]:
    """Log the notices of the procedure meanwhile; the failure of a hook is nothing but such a warning."""

    def log_notice(notice: Diagnostic) -> None:
        level = logging.WARNING if notice.severity_nonlocalized == "WARNING" else logging.DEBUG
        context.log.log(level, "%s", notice.message_primary)

    connection.add_notice_handler(log_notice)
    try:
        yield
    finally:
        connection.remove_notice_handler(log_notice)
