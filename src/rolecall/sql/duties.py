"""Typed calls for maintenance duties: which are due, and how their runs go."""

# ruff: noqa: S608 - only statements of this package are built into a query
from __future__ import annotations

from collections.abc import Sequence
from itertools import starmap
from typing import TypeVar

from rolecall.model.workers import ClockStep, DutyStatus
from rolecall.sql.statement import Statement, ignore_rows, single

T = TypeVar("T")


def read_status(names: Sequence[str], by: str) -> Statement[DutyStatus]:
    """Read the state of these duties, for the process named `by`."""
    return Statement(
        query=(
            "select due, next_in, did_last, workers, latest_worker, server_time, clock_steps "
            "from rolecall.look_at_duties(%s::text[], %s::text)"
        ),
        params=(list(names), by),
        read=lambda rows: next(starmap(DutyStatus, rows)),
    )


def report_clock_step(step: ClockStep) -> Statement[bool]:
    """Report a step of the server's clock. Returns whether it was applied; another process may have been faster."""
    return Statement(
        query="select rolecall.report_clock_step(%s::int, %s::float8, %s::float8, %s::float8)",
        params=(step.steps, step.seconds, step.after, step.before),
        read=single,
    )


def begin(statement: Statement[T], name: str, every: float, by: str) -> Statement[tuple[T] | None]:
    """Run the first statement of a duty if the duty is due; its next run is due after `every` seconds.

    Returns None if the duty is not due or another process is starting it; the statement is not run then. All of this
    is one statement, so that the row is locked only while Postgres works, even if this process is held up, and a
    failure leaves the duty due.
    """
    return Statement(
        query=(
            "select turn.ours, step.* from rolecall.take_duty(%s::text, %s::float8, %s::text) as turn (ours) "
            # The offset prevents inlining, so that the inner query runs only if the condition is true.
            f"left join lateral (select true, first.* from ({statement.query}) as first where turn.ours offset 0) "
            "as step on true"
        ),
        params=(name, every, by, *statement.params),
        read=lambda rows: (statement.read([row[2:] for row in rows if row[1]]),) if rows[0][0] else None,
        event_kinds=statement.event_kinds,
    )


def record(name: str, every: float, by: str, error: str | None = None) -> Statement[None]:
    """Record that a run of a duty succeeded, or the error with which it failed."""
    return Statement(
        query="select rolecall.record_duty(%s::text, %s::float8, %s::text, %s::text)",
        params=(name, every, by, error),
        read=ignore_rows,
    )
