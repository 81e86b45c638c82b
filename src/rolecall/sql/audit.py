"""Typed calls for the audit log."""

# ruff: noqa: S608 - only this module's own constants are built into a query
from __future__ import annotations

from collections.abc import Sized
from itertools import starmap

import msgspec

from rolecall.model.audit import Actor, AuditEvent, AuditFilter, StoredAuditEvent
from rolecall.sql.encoding import NotStorable, encode
from rolecall.sql.statement import Statement, ignore_rows, where

COLUMNS = ", ".join(StoredAuditEvent.__slots__)
LONGEST_TEXT = 2_000
LONGEST_PART = 1_500
MOST_PARTS = 8


def record(actor: Actor, event: AuditEvent, answer: object) -> Statement[None]:
    """Record a change with its actor and its result."""
    return Statement(
        query="select rolecall.record_audit(%s::text, %s::text, %s::text, %s::text, %s::jsonb, %s::jsonb)",
        params=(actor.name, actor.via, actor.origin, event.action, _shortened(event.detail), _shortened(answer)),
        read=ignore_rows,
    )


def list_(which: AuditFilter) -> Statement[list[StoredAuditEvent]]:
    """List audit entries, newest first."""
    filters, params = where(
        ("actor = %s::text", which.actor),
        ("action = %s::text", which.action),
        ("split_part(action, '.', 1) = any (%s::text[])", which.kinds and list(which.kinds)),
        ("rolecall.concerns(detail, outcome, %s::text)", which.thing),
        ("via = %s::text", which.via),
        ("at >= %s::timestamptz", which.since),
        ("at < %s::timestamptz", which.until),
        ("id < %s::bigint", which.before),
    )
    return Statement(
        query=f"select {COLUMNS} from rolecall.audit_log where {filters} order by id desc limit %s::int",
        params=(*params, which.limit),
        read=lambda rows: list(starmap(StoredAuditEvent, rows)),
    )


def _shortened(value: object) -> str | None:
    """Return the value as JSON. Parts that are too long are replaced by their size."""
    if value is None:
        return None
    try:
        plain = msgspec.to_builtins(value, str_keys=True, enc_hook=str)
        text = encode(plain)
    except NotStorable as error:
        plain = str(error)
        text = encode(plain)
    if len(text) <= LONGEST_TEXT:
        return text
    if isinstance(plain, dict) and len(plain) <= MOST_PARTS:
        return encode({name: _part(each) for name, each in plain.items()})
    return encode(_measured(plain))


def _part(value: object) -> object:
    return value if len(encode(value)) <= LONGEST_PART else _measured(value)


def _measured(value: object) -> dict[str, int]:
    if isinstance(value, Sized) and not isinstance(value, str):
        return {"number": len(value)}
    return {"characters": len(encode(value))}
