"""Typed calls for the hand-off through Redis."""

from __future__ import annotations

from collections.abc import Sequence

from rolecall.sql.statement import Statement, firsts, ignore_rows, single


def pool_id() -> Statement[str]:
    """Return the identity of this pool: the identifier of the cluster and the id of the database."""
    return Statement(
        query="select system_identifier || '.' || oid from pg_control_system(), pg_database"
        " where datname = current_database()",
        read=single,
    )


def watch() -> Statement[None]:
    """Make every enqueue notify for the next five minutes, even if no worker is idle, because a dispatcher
    listens.
    """
    return Statement(query="select rolecall.watch()", read=ignore_rows)


def running_among(ids: Sequence[int]) -> Statement[dict[int, bool]]:
    """Return the open ones of these tasks, and whether each is running."""
    # By id, one at a time: a join might read all tasks.
    return Statement(
        query="select given.id, task.running from unnest(%s::bigint[]) as given (id) cross join lateral"
        " (select state = 'running' as running from rolecall.tasks as one where one.id = given.id offset 0) as task",
        params=(list(ids),),
        read=dict,
    )


def sessionless(worker_ids: Sequence[int]) -> Statement[list[int]]:
    """Return those of these workers that certainly have no database session, or are no longer registered."""
    return Statement(
        query="select worker_id from rolecall.sessionless(%s::bigint[])", params=(list(worker_ids),), read=firsts
    )
