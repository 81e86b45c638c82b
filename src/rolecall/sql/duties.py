"""Typed calls about the duties of the pool: whose turn it is, and how their runs go."""

# ruff: noqa: S608 - only statements of this package are built into a query
from __future__ import annotations

from collections.abc import Sequence
from itertools import starmap
from typing import TypeVar

from rolecall.model.workers import DutyLook
from rolecall.sql.statement import Statement, nothing

__all__ = ["begin", "look", "record"]

T = TypeVar("T")


def look(names: Sequence[str], by: str) -> Statement[DutyLook]:
    """Ask how it stands with these duties, as the process that is called so."""
    return Statement(
        query=(
            "select due, next_in, did_last, workers, latest_worker from rolecall.look_at_duties(%s::text[], %s::text)"
        ),
        params=(list(names), by),
        read=lambda rows: next(starmap(DutyLook, rows)),
    )


def begin(statement: Statement[T], name: str, every: float, by: str) -> Statement[tuple[T] | None]:
    """Make the first statement of a duty take the turn, which comes again after so many seconds.

    The answer is None where the duty is not due or another process is just taking it, and the statement is not run
    then. All in one statement: the row stays locked for as long as Postgres needs, not for as long as this process is
    held up, and where it fails the duty is due as before.
    """
    return Statement(
        query=(
            "select turn.ours, step.* from rolecall.take_duty(%s::text, %s::float8, %s::text) as turn (ours) "
            # The offset keeps the inner query one, so that it waits for its condition.
            f"left join lateral (select true, first.* from ({statement.query}) as first where turn.ours offset 0) "
            "as step on true"
        ),
        params=(name, every, by, *statement.params),
        read=lambda rows: (statement.read([row[2:] for row in rows if row[1]]),) if rows[0][0] else None,
        tells=statement.tells,
    )


def record(name: str, every: float, by: str, error: str | None = None) -> Statement[None]:
    """Record that a run of a duty succeeded, or the error that ended it."""
    return Statement(
        query="select rolecall.record_duty(%s::text, %s::float8, %s::text, %s::text)",
        params=(name, every, by, error),
        read=nothing,
    )
