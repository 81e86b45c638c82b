"""Typed calls about roles, their pauses, and handlers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import starmap

from rolecall.model.errors import InvalidDeclaration
from rolecall.model.insight import EndedPause, Pause
from rolecall.sql.statement import Row, Statement, nothing, single
from rolecall.sql.strict_json import NotStorable, encode

__all__ = ["declare", "end_pauses", "pause", "resume"]


def declare(roles: Sequence[Mapping[str, object]], handlers: Sequence[Mapping[str, object]]) -> Statement[None]:
    """Store roles and handlers as declared; writes nothing where nothing changed."""
    return Statement(
        query="select rolecall.declare(%s::jsonb, %s::jsonb)",
        params=(_document("roles", roles), _document("handlers", handlers)),
        read=nothing,
    )


def pause(role: str, seconds: float | None, by: str | None) -> Statement[Pause]:
    """Let no task of a role begin, for so many seconds, or until somebody resumes it."""
    return Statement(
        query="select paused_at, paused_until from rolecall.pause_role(%s::text, %s::float8, %s::text)",
        params=(role, seconds, by),
        read=lambda rows: _read_pause(role, by, rows),
    )


def resume(role: str) -> Statement[bool]:
    """End a role's pause; False if it was not paused."""
    return Statement(query="select rolecall.resume_role(%s::text)", params=(role,), read=single)


def end_pauses() -> Statement[list[EndedPause]]:
    """End the pauses whose time is up."""
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
