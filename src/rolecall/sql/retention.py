"""Typed calls that keep the store small: prune what is old, make partitions, write down what ended."""

from __future__ import annotations

from rolecall.sql.statement import Statement, nothing, single

__all__ = [
    "keep_audit",
    "make_partitions",
    "prune",
    "prune_due",
    "roll_up_counts",
    "roll_up_history",
]

BATCH = 2_000


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
