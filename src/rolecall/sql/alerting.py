"""The typed call that finds which changes of problems to announce."""

from __future__ import annotations

from rolecall.model.operator.problems import Problem, ProblemChange, ProblemKind
from rolecall.sql.statement import Row, Statement

COLUMNS = "change, subjects, kind, roles, handlers, workers, number, since"


def announce_problems(after: float, over: float) -> Statement[list[ProblemChange]]:
    """Record the current problems and return the changes to announce. Times are in seconds."""
    return Statement(
        query=(
            f"select {COLUMNS}, extract(epoch from rolecall.clock() - since)::float8, figures"  # noqa: S608
            " from rolecall.announce_problems(make_interval(secs => %s), make_interval(secs => %s))"
        ),
        params=(after, over),
        read=lambda rows: [_read_change(row) for row in rows],
    )


def _read_change(row: Row) -> ProblemChange:
    change, subjects, kind, *rest = row
    kind = ProblemKind(kind)
    return ProblemChange(kind, tuple(subjects), Problem(kind, *rest) if change == "opened" else None)
