"""Typed calls about the number of workers: what a role could keep busy, and what each pod runs."""

from __future__ import annotations

from itertools import starmap

from rolecall.model.scaling import PodWork
from rolecall.sql.statement import Statement, single

__all__ = ["pods_at_work", "scale_target"]


def scale_target(role: str) -> Statement[int]:
    """Ask how many tasks of a role workers could be running now."""
    return Statement(query="select rolecall.scale_target(%s::text)", params=(role,), read=single)


def pods_at_work(prefix: str) -> Statement[list[PodWork]]:
    """Ask what the workers run in each pod whose name begins like this."""
    return Statement(
        query="select pod, worker_ids, running from rolecall.pods_at_work(%s::text)",
        params=(prefix,),
        read=lambda rows: list(starmap(PodWork, rows)),
    )
