"""Typed calls for retention: prune, make partitions, summarize finished tasks."""

from __future__ import annotations

from rolecall.sql.statement import Statement, ignore_rows, single

BATCH = 2_000


def prune() -> Statement[dict[str, int]]:
    """Delete all records past their retention; returns the numbers by kind."""
    return Statement(query="select what, number from rolecall.prune()", read=dict)


def prune_due(most: int = BATCH) -> Statement[dict[str, int]]:
    """Delete a batch of one kind that is due and not in progress elsewhere; returns its kind and number, or
    nothing.
    """
    return Statement(query="select what, number from rolecall.prune_due(%s::int)", params=(most,), read=dict)


def keep_audit(seconds: float) -> Statement[None]:
    """Set the retention of the audit log."""
    return Statement(query="select rolecall.keep_audit(%s::float8)", params=(seconds,), read=ignore_rows)


def make_partitions(days_ahead: int = 7) -> Statement[int]:
    """Create the partitions of the coming days; returns how many were new."""
    return Statement(query="select rolecall.make_partitions(%s::int)", params=(days_ahead,), read=single)


def roll_up_counts() -> Statement[bool]:
    """Count the tasks that finished since the last call, at most of a day; returns whether there are more."""
    return Statement(query="select rolecall.roll_up_counts()", read=single)


def roll_up_history() -> Statement[bool]:
    """Add the tasks that finished since the last call to the history, at most of an hour; returns whether there
    are more.
    """
    return Statement(query="select rolecall.roll_up_history()", read=single)
