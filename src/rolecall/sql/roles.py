"""Typed calls about roles and handlers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rolecall.model.errors import InvalidDeclaration
from rolecall.sql.statement import Statement, nothing
from rolecall.sql.strict_json import NotStorable, encode

__all__ = ["declare"]


def declare(roles: Sequence[Mapping[str, object]], handlers: Sequence[Mapping[str, object]]) -> Statement[None]:
    """Store roles and handlers as declared; writes nothing where nothing changed."""
    return Statement(
        query="select rolecall.declare(%s::jsonb, %s::jsonb)",
        params=(_document("roles", roles), _document("handlers", handlers)),
        read=nothing,
    )


def _document(what: str, items: Sequence[Mapping[str, object]]) -> str:
    try:
        return encode(list(items))
    except NotStorable as error:
        raise InvalidDeclaration(f"{what}{error}") from error
