"""Typed calls for roles, their pauses, handlers and procedures."""

# ruff: noqa: S608 - only this module's own constants are built into a query
from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import starmap
from typing import Any

from rolecall.model.errors import InvalidDeclaration
from rolecall.model.handlers import DeclaredHandler, ProcedureResult, StoredProcedure
from rolecall.model.operator.insight import EndedPause, Pause
from rolecall.model.redaction import WRITE_ONLY
from rolecall.sql.encoding import NotStorable, encode
from rolecall.sql.events import ENDS
from rolecall.sql.statement import Row, Statement, from_json, ignore_rows, single, where

COLUMNS = (
    "name, role, description, signature::text, extract(epoch from lease)::float8, extract(epoch from timeout)::float8, "
    "max_attempts, retry::text, procedure, key, dedupe_key, extract(epoch from expires)::float8, result_schema::text, "
    "strict_keys, rolecall.retained_redactions(handlers), withdrawn"
)


def declare(roles: Sequence[Mapping[str, object]], handlers: Sequence[Mapping[str, object]]) -> Statement[None]:
    """Store the declared roles and handlers. Nothing is written if nothing changed."""
    return Statement(
        query="select rolecall.declare(%s::jsonb, %s::jsonb)",
        params=(_document("roles", roles), _document("handlers", handlers)),
        read=ignore_rows,
    )


def pause(role: str, seconds: float | None, by: str | None) -> Statement[Pause]:
    """Pause a role for some seconds, or until it is resumed."""
    return Statement(
        query="select paused_at, paused_until from rolecall.pause_role(%s::text, %s::float8, %s::text)",
        params=(role, seconds, by),
        read=lambda rows: _read_pause(role, by, rows),
    )


def resume(role: str) -> Statement[bool]:
    """End a role's pause; returns False if it was not paused."""
    return Statement(query="select rolecall.resume_role(%s::text)", params=(role,), read=single)


def end_pauses() -> Statement[list[EndedPause]]:
    """Clear the expired pauses."""
    return Statement(
        query="select role, extract(epoch from paused_for)::float8, paused_by from rolecall.end_pauses()",
        read=lambda rows: list(starmap(EndedPause, rows)),
    )


def _read_pause(role: str, by: str | None, rows: list[Row]) -> Pause:
    [(paused_at, paused_until)] = rows
    return Pause(role=role, paused_at=paused_at, paused_until=paused_until, paused_by=by)


def _document(what: str, items: Sequence[Mapping[str, object]]) -> str:
    try:
        return encode(list(items))
    except NotStorable as error:
        raise InvalidDeclaration(f"{what}{error}") from error


def list_handlers(name: str | None = None) -> Statement[list[DeclaredHandler]]:
    """List the handlers by role and name, or find one."""
    filters, params = where(("name = %s::text", name))
    return Statement(
        query=f"select {COLUMNS} from rolecall.handlers where {filters} order by role, name",
        params=params,
        read=lambda rows: list(map(_read_handler, rows)),
    )


def _read_handler(row: Row) -> DeclaredHandler:
    name, role, description, signature, lease, timeout, max_attempts, retry, procedure, *rest = row
    key, dedupe_key, expires, result, strict_keys, retained, withdrawn = rest
    return DeclaredHandler(
        name,
        role,
        description,
        from_json(signature),
        lease,
        timeout,
        max_attempts,
        from_json(retry),
        procedure,
        key,
        dedupe_key,
        expires,
        from_json(result),
        strict_keys,
        retained,
        withdrawn,
    )


def hiding_schemas(handlers: Collection[str]) -> Statement[Sequence[tuple[str, Any, Any]]]:
    """Read the payload and result schemas of the handlers that hide a value.

    A handler has several if its present declaration hides less than an earlier one.
    """
    return Statement(
        query="select name, (schemas -> 'payload')::text, (schemas -> 'result')::text from rolecall.handlers "
        "cross join jsonb_array_elements("
        " hiding || jsonb_build_object('payload', signature, 'result', result_schema)"
        ") as schemas "
        "where name = any(%s::text[]) and concat(signature, result_schema, hiding) like %s::text",
        params=(list(handlers), f'%"{WRITE_ONLY}": true%'),
        read=lambda rows: [(name, from_json(payload), from_json(result)) for name, payload, result in rows],
    )


def reveal(handler: str) -> Statement[object]:
    """Stop hiding values that only earlier declarations hid; returns False if there were none."""
    return Statement(query="select rolecall.reveal_handler(%s::text)", params=(handler,), read=single)


def known_procedures() -> Statement[list[StoredProcedure]]:
    """List the SQL handlers by name."""
    return Statement(
        query="select name, role, before_procedure is not null from rolecall.procedures order by name",
        read=lambda rows: [StoredProcedure(name=name, role=role, has_before=before) for name, role, before in rows],
    )


def run_before_hook(worker_id: int, task_id: int, fence: int) -> Statement[None]:
    """Run the hook before the procedure of a claimed task. Commit it, so that others can see its work."""
    return Statement(
        query="select rolecall.run_before_hook(%s::bigint, %s::bigint, %s::int)",
        params=(worker_id, task_id, fence),
        read=ignore_rows,
    )


def run_procedure(worker_id: int, task_id: int, fence: int) -> Statement[ProcedureResult]:
    """Run the procedure of a claimed task and finish the claim; both commit together."""
    return Statement(
        query="select lost, error from rolecall.run_procedure(%s::bigint, %s::bigint, %s::int)",
        params=(worker_id, task_id, fence),
        read=_read_end,
        event_kinds=ENDS,
    )


def _read_end(rows: list[Row]) -> ProcedureResult:
    [(lost, error)] = rows
    return ProcedureResult(lost=lost, error=error)
