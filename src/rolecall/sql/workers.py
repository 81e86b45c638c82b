"""Typed calls about workers: the roll call."""

from __future__ import annotations

from rolecall.model.workers import WorkerInfo
from rolecall.sql.statement import Statement, nothing, single

__all__ = ["beat", "deregister", "mark_idle", "register"]


def register(worker: WorkerInfo) -> Statement[int]:
    """Enter the roll call; the answer is the worker's id, which every later call shows."""
    return Statement(
        query=(
            "select rolecall.register_worker(%s::text, %s::text[], %s::text[], %s::int, %s::text, %s::int, %s::text)"
        ),
        params=(
            worker.name,
            list(worker.roles),
            list(worker.handlers),
            worker.slots,
            worker.host,
            worker.pid,
            worker.version,
        ),
        read=single,
    )


def beat(worker_id: int, held: int, *, idle: bool) -> Statement[bool]:
    """Say that this worker lives; False means that nobody knows it and it must register again."""
    return Statement(
        query="select rolecall.beat(%s::bigint, %s::int, %s::boolean)",
        params=(worker_id, held, idle),
        read=single,
    )


def mark_idle(worker_id: int, *, idle: bool) -> Statement[None]:
    """Say whether this worker waits for work and wants to be notified."""
    return Statement(query="select rolecall.mark_idle(%s::bigint, %s::boolean)", params=(worker_id, idle), read=nothing)


def deregister(worker_id: int) -> Statement[int]:
    """Leave the roll call; the answer is how many tasks this worker still held and gave back."""
    return Statement(query="select rolecall.deregister_worker(%s::bigint)", params=(worker_id,), read=single)
