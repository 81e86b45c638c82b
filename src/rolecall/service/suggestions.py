"""Adds "did you mean" to an unknown role, from the names that the database knows."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from rolecall.model.errors import RoleNotFound, UnknownRole
from rolecall.service.database import Database
from rolecall.sql import insight


async def with_suggestion(error: UnknownRole, database: Database, asked: Iterable[str | None]) -> UnknownRole:
    """The same error, with a known name that is close to one of those asked for, where there is one."""
    roles = [role.name for role in await database.run(insight.roles())]
    known = dict.fromkeys([*roles, *await database.run(insight.handler_names())])
    for name in asked:
        close = get_close_matches(name or "", known, n=1) if name not in known else []
        if close:
            return UnknownRole(f"{error.problem}; did you mean {close[0]!r}?")
    return error


async def role_not_found(role: str, database: Database) -> RoleNotFound:
    """The error for a role that was asked for by its name, with a known name that is close to it."""
    error = await with_suggestion(UnknownRole(f"unknown role {role!r}"), database, [role])
    return RoleNotFound(error.problem)
