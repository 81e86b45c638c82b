"""Typed calls that keep the store small: prune what is old, make partitions, write down what ended."""

# ruff: noqa: S608 - only this module's own constants are built into a query
from __future__ import annotations

from datetime import datetime

from rolecall.model.history import Scale, StoredBin
from rolecall.sql.statement import Row, Statement, nothing, single

__all__ = [
    "history_bins",
    "keep_audit",
    "known_history",
    "make_partitions",
    "prune",
    "prune_due",
    "roll_up_counts",
    "roll_up_history",
]

BATCH = 2_000
COLUMNS = (
    "at, completed, failed, cancelled, retried, ready, running, longest_wait, longest_run, "
    "wait_buckets, wait_counts, run_buckets, run_counts"
)


def prune() -> Statement[dict[str, int]]:
    """Drop what the roles no longer want to keep; the answer counts it by kind."""
    return Statement(query="select what, number from rolecall.prune()", read=dict)


def prune_due(most: int = BATCH) -> Statement[dict[str, int]]:
    """Drop a batch of what is due and nobody else is at; the answer is its kind and number, or empty."""
    return Statement(query="select what, number from rolecall.prune_due(%s::int)", params=(most,), read=dict)


def keep_audit(seconds: float) -> Statement[None]:
    """Say for how long the audit log is kept."""
    return Statement(query="select rolecall.keep_audit(%s::float8)", params=(seconds,), read=nothing)


def make_partitions(days_ahead: int = 7) -> Statement[int]:
    """Make the coming days' partitions; the answer is how many were new."""
    return Statement(query="select rolecall.make_partitions(%s::int)", params=(days_ahead,), read=single)


def roll_up_counts() -> Statement[bool]:
    """Count what has finished since the last time, a day at most; the answer is whether there is more."""
    return Statement(query="select rolecall.roll_up_counts()", read=single)


def roll_up_history() -> Statement[bool]:
    """Add what has finished since the last time, an hour at most; the answer is whether there is more."""
    return Statement(query="select rolecall.roll_up_history()", read=single)


def known_history() -> Statement[tuple[datetime, datetime, datetime] | None]:
    """Ask what time it is, and from when to when the history is known; None where it was not begun yet."""
    return Statement(
        query="select rolecall.clock(), began, moment from rolecall.history_until where began > '-infinity'",
        read=lambda rows: (rows[0][0], rows[0][1], rows[0][2]) if rows else None,
    )


def history_bins(role: str | None, scale: Scale, begin: datetime) -> Statement[dict[datetime, StoredBin]]:
    """Ask for the bins of a role, or of all, from a moment on that begins one."""
    return Statement(
        query=f"select {COLUMNS} from rolecall.history(%s::text, %s::int, %s::int, %s::timestamptz)",
        params=(role, scale.width, scale.source, begin),
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
