"""Typed calls about SQL handlers: which there are, and running one."""

from __future__ import annotations

from rolecall.model.handlers import ProcedureEnd, StoredProcedure
from rolecall.sql.statement import Row, Statement, nothing

__all__ = ["known", "run", "run_before_hook"]


def known() -> Statement[list[StoredProcedure]]:
    """List the handlers that are procedures of the database, by name."""
    return Statement(
        query="select name, role, before_procedure is not null from rolecall.procedures order by name",
        read=lambda rows: [StoredProcedure(name=name, role=role, has_before=before) for name, role, before in rows],
    )


def run_before_hook(worker_id: int, task_id: int, fence: int) -> Statement[None]:
    """Run the hook that comes before the procedure of a claimed task; commit it, so that others see it."""
    return Statement(
        query="select rolecall.run_before_hook(%s::bigint, %s::bigint, %s::int)",
        params=(worker_id, task_id, fence),
        read=nothing,
    )


def run(worker_id: int, task_id: int, fence: int) -> Statement[ProcedureEnd]:
    """Run the procedure of a claimed task and end the claim; all of it commits together."""
    return Statement(
        query="select lost, error from rolecall.run_procedure(%s::bigint, %s::bigint, %s::int)",
        params=(worker_id, task_id, fence),
        read=_end,
    )


def _end(rows: list[Row]) -> ProcedureEnd:
    [(lost, error)] = rows
    return ProcedureEnd(lost=lost, error=error)
