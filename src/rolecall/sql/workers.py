"""Typed calls about workers: the roll call, and what they are told."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rolecall.model.workers import BeatAnswer, Condition, WorkerCommand, WorkerInfo
from rolecall.sql.documents import encode
from rolecall.sql.statement import Row, Statement, nothing, single

__all__ = ["beat", "command", "deregister", "mark_idle", "register", "serve", "tell_intakes", "wake_others"]


def register(worker: WorkerInfo) -> Statement[int]:
    """Enter the roll call; the answer is the worker's id, which every later call shows."""
    return Statement(
        query=(
            "select rolecall.register_worker(%s::text, %s::text[], %s::text[], %s::int, %s::text, %s::int, %s::text, "
            "%s::text, %s::text)"
        ),
        params=(
            worker.name,
            list(worker.roles),
            list(worker.handlers),
            worker.slots,
            worker.host,
            worker.pid,
            worker.version,
            worker.pod,
            worker.node,
        ),
        read=single,
    )


def beat(worker_id: int, held: int, condition: Condition, *, idle: bool) -> Statement[BeatAnswer]:
    """Say that this worker lives, and how it is; hear what it is told to do."""
    return Statement(
        query="select known, command from rolecall.beat(%s::bigint, %s::int, %s::boolean, %s::jsonb)",
        params=(worker_id, held, idle, encode(msgspec.to_builtins(condition))),
        read=_read_answer,
    )


def command(worker_id: int, command: WorkerCommand | None) -> Statement[None]:
    """Tell a worker what to do; None: go on."""
    return Statement(
        query="select rolecall.command_worker(%s::bigint, %s::text)", params=(worker_id, command), read=nothing
    )


def mark_idle(worker_id: int, *, idle: bool) -> Statement[None]:
    """Say whether this worker waits for work and wants to be notified."""
    return Statement(query="select rolecall.mark_idle(%s::bigint, %s::boolean)", params=(worker_id, idle), read=nothing)


def tell_intakes(worker_id: int, intakes: Sequence[str]) -> Statement[None]:
    """Say which payloads this worker takes, before its first claim."""
    return Statement(
        query="select rolecall.tell_intakes(%s::bigint, %s::text[])",
        params=(worker_id, list(intakes)),
        read=nothing,
    )


def wake_others(worker_id: int, roles: Sequence[str], handlers: Sequence[str]) -> Statement[None]:
    """Say that this worker was woken and has no room: other idle ones are woken for what is due."""
    return Statement(
        query="select rolecall.wake_others(%s::bigint, %s::text[], %s::text[])",
        params=(worker_id, list(roles), list(handlers)),
        read=nothing,
    )


def serve(worker_id: int, handlers: Sequence[str]) -> Statement[None]:
    """Say which handlers this worker can run by now."""
    return Statement(
        query="select rolecall.serve(%s::bigint, %s::text[])", params=(worker_id, list(handlers)), read=nothing
    )


def deregister(worker_id: int) -> Statement[int]:
    """Leave the roll call; the answer is how many tasks this worker still held and gave back."""
    return Statement(query="select rolecall.deregister_worker(%s::bigint)", params=(worker_id,), read=single)


def _read_answer(rows: list[Row]) -> BeatAnswer:
    [(known, command)] = rows
    return BeatAnswer(known=known, command=None if command is None else WorkerCommand(command))
