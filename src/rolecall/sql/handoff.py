"""Typed calls of the hand-off by Redis: whose pool it is, who is notified, what became of ids, who is dead."""

from __future__ import annotations

from collections.abc import Sequence

from rolecall.sql.statement import Statement, firsts, nothing, single

__all__ = ["pool_id", "running_among", "sessionless", "watch"]


def pool_id() -> Statement[str]:
    """Ask what tells this pool from every other one: the server's own number and that of the database."""
    return Statement(
        query="select system_identifier || '.' || oid from pg_control_system(), pg_database"
        " where datname = current_database()",
        read=single,
    )


def watch() -> Statement[None]:
    """Have every enqueue notified for the next five minutes, though no worker is idle: a dispatcher listens."""
    return Statement(query="select rolecall.watch()", read=nothing)


def running_among(ids: Sequence[int]) -> Statement[dict[int, bool]]:
    """Ask which of these tasks are open, and which of those run."""
    # Each by its id: a join might read all tasks.
    return Statement(
        query="select given.id, task.running from unnest(%s::bigint[]) as given (id) cross join lateral"
        " (select state = 'running' as running from rolecall.tasks as one where one.id = given.id offset 0) as task",
        params=(list(ids),),
        read=dict,
    )


def sessionless(worker_ids: Sequence[int]) -> Statement[list[int]]:
    """Ask which of these workers are known to have no session in the database, or have left the roll."""
    return Statement(
        query="select worker_id from rolecall.sessionless(%s::bigint[])", params=(list(worker_ids),), read=firsts
    )
