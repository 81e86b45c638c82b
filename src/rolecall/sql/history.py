"""Typed calls for a pool's history."""

# ruff: noqa: S608 - only this module's own constants are built into a query
from __future__ import annotations

from datetime import datetime

from rolecall.model.operator.history import Scale, StoredBin
from rolecall.sql.statement import Row, Statement

COLUMNS = (
    "at, completed, failed, cancelled, retried, ready, running, longest_wait, longest_run, "
    "wait_buckets, wait_counts, run_buckets, run_counts"
)


def known_history() -> Statement[tuple[datetime, datetime, datetime] | None]:
    """Return the present time, and the beginning and end of the known history; None if it has not begun."""
    return Statement(
        query="select rolecall.clock(), began, moment from rolecall.history_until where began > '-infinity'",
        read=lambda rows: (rows[0][0], rows[0][1], rows[0][2]) if rows else None,
    )


def history_bins(
    role: str | None, scale: Scale, begin: datetime, *, end: datetime | None = None, handler: str | None = None
) -> Statement[dict[datetime, StoredBin]]:
    """Read the bins of a role, of one of its handlers, or of all roles, from the beginning of a bin on.

    `end` (None: now) is the beginning of a stored bin.
    """
    return Statement(
        query=f"select {COLUMNS} from rolecall.history("
        "%s::text, %s::int, %s::int, %s::timestamptz, %s::timestamptz, %s::text)",
        params=(role, scale.width, scale.source, begin, end, handler),
        read=lambda rows: {row[0]: _read_bin(row) for row in rows},
    )


def _read_bin(row: Row) -> StoredBin:
    at, completed, failed, cancelled, retried, ready, running, longest_wait, longest_run, *histograms = row
    wait_buckets, wait_counts, run_buckets, run_counts = (each or [] for each in histograms)
    return StoredBin(
        at=at,
        completed=completed,
        failed=failed,
        cancelled=cancelled,
        retried=retried,
        ready=ready,
        running=running,
        longest_wait=longest_wait,
        longest_run=longest_run,
        waits=dict(zip(wait_buckets, wait_counts, strict=True)),
        runs=dict(zip(run_buckets, run_counts, strict=True)),
    )
