"""Typed calls for the worker registry and its commands."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from itertools import starmap

import msgspec

from rolecall.model.workers import (
    Condition,
    ContestedDeclaration,
    HeartbeatAnswer,
    Neighbour,
    ProcessIdentity,
    WorkerCommand,
    WorkerInfo,
)
from rolecall.sql.encoding import encode
from rolecall.sql.statement import Row, Statement, firsts, ignore_rows, single

DIGITS = 16


def register(worker: WorkerInfo) -> Statement[int]:
    """Register a worker; returns its id, which every later call presents."""
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


def heartbeat(worker_id: int, held: int, condition: Condition, *, idle: bool) -> Statement[HeartbeatAnswer]:
    """Send a heartbeat with the worker's condition; returns its command."""
    return Statement(
        query="select known, command from rolecall.beat(%s::bigint, %s::int, %s::boolean, %s::jsonb)",
        params=(worker_id, held, idle, encode(msgspec.to_builtins(condition))),
        read=_read_answer,
    )


def command(worker_id: int, command: WorkerCommand | None) -> Statement[None]:
    """Store a command for a worker; None withdraws it."""
    return Statement(
        query="select rolecall.command_worker(%s::bigint, %s::text)", params=(worker_id, command), read=ignore_rows
    )


def mark_idle(worker_id: int, *, idle: bool) -> Statement[None]:
    """Record whether this worker is idle and wants to be notified."""
    return Statement(
        query="select rolecall.mark_idle(%s::bigint, %s::boolean)", params=(worker_id, idle), read=ignore_rows
    )


def record_intakes(worker_id: int, intakes: Sequence[str]) -> Statement[None]:
    """Record the signature digests of this worker's handlers, before its first claim."""
    return Statement(
        query="select rolecall.tell_intakes(%s::bigint, %s::text[])",
        params=(worker_id, list(intakes)),
        read=ignore_rows,
    )


def record_process(worker_id: int, process: ProcessIdentity | None, sessions: str | None) -> Statement[None]:
    """Record how to prove that this worker is dead: its process, and the suffix of its sessions' names."""
    return Statement(
        query="select rolecall.tell_process(%s::bigint, %s::text, %s::bigint, %s::text)",
        params=(worker_id, process and process.space, process and process.started, sessions),
        read=ignore_rows,
    )


def declare_release(worker_id: int, app: str, declarations: Mapping[str, Mapping[str, object]]) -> Statement[None]:
    """Record which app a worker runs and what its code declares: by kind (schedule, key, role, handler), settings by
    name.
    """
    digests = {
        kind: {name: _digest(settings) if settings else None for name, settings in sorted(by_name.items())}
        for kind, by_name in sorted(declarations.items())
    }
    document, release = encode(digests), _digest(digests)
    return Statement(
        query="select rolecall.declare_release(%s::bigint, %s::text, %s::text, %s::jsonb)",
        params=(worker_id, app, release, document),
        read=ignore_rows,
    )


def withdraw_undeclared() -> Statement[list[tuple[str, str, str]]]:
    """Withdraw what no live worker of an app declares any longer; returns app, kind and name of each."""
    return Statement(
        query="select app, kind, name from rolecall.withdraw_undeclared()", read=lambda rows: [(*row,) for row in rows]
    )


def contested_declarations() -> Statement[list[ContestedDeclaration]]:
    """List the declarations that live workers of several apps make with different settings, and names of two apps."""
    return Statement(
        query="select kind, name, apps from rolecall.contested_declarations()",
        read=lambda rows: list(starmap(ContestedDeclaration, rows)),
    )


def neighbours(host: str, space: str) -> Statement[list[Neighbour]]:
    """List the workers that may hold tasks and whose processes can be inspected from here."""
    return Statement(
        query="select worker_id, pid, pid_started from rolecall.workers_beside(%s::text, %s::text)",
        params=(host, space),
        read=lambda rows: list(starmap(Neighbour, rows)),
    )


def sessionless() -> Statement[list[int]]:
    """List the workers that had no session at this check and the previous one."""
    return Statement(query="select worker_id from rolecall.unseen_workers()", params=(), read=firsts)


def wake_others(worker_id: int, roles: Sequence[str], handlers: Sequence[str]) -> Statement[None]:
    """Wake other idle workers for due tasks, because this worker was woken without a free slot."""
    return Statement(
        query="select rolecall.wake_others(%s::bigint, %s::text[], %s::text[])",
        params=(worker_id, list(roles), list(handlers)),
        read=ignore_rows,
    )


def serve(worker_id: int, handlers: Sequence[str]) -> Statement[None]:
    """Record which handlers this worker can run now."""
    return Statement(
        query="select rolecall.serve(%s::bigint, %s::text[])", params=(worker_id, list(handlers)), read=ignore_rows
    )


def deregister(worker_id: int) -> Statement[int]:
    """Deregister a worker; returns the number of tasks that it still held, which are returned."""
    return Statement(query="select rolecall.deregister_worker(%s::bigint)", params=(worker_id,), read=single)


def _read_answer(rows: list[Row]) -> HeartbeatAnswer:
    [(known, command)] = rows
    return HeartbeatAnswer(is_registered=known, command=None if command is None else WorkerCommand(command))


def _digest(settings: object) -> str:
    return hashlib.sha256(encode(settings).encode()).hexdigest()[:DIGITS]
