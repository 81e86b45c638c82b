"""Checks of arguments: names, page lengths, and suggestions for unknown names."""

from __future__ import annotations

from collections.abc import Iterable

from rolecall.model.errors import ConfigError, RoleNotFound, UnknownRole
from rolecall.model.hints import close_to
from rolecall.service.database import Database
from rolecall.sql import insight

LONGEST_NAME = 100
LONGEST_PAGE = 1_000


def require_name(name: str) -> None:
    """Raise ConfigError for a name that is unreadable or could be mistaken for another one."""
    if not name.isprintable() or name != name.strip() or not 1 <= len(name) <= LONGEST_NAME:
        problem = f"must be printable, without spaces at its ends, and have 1 to {LONGEST_NAME} characters"
        raise ConfigError(problem, variable="name", value=name)


def require_page(limit: int) -> None:
    """Raise ConfigError for an invalid page length."""
    if not 1 <= limit <= LONGEST_PAGE:
        problem = f"must be 1 to {LONGEST_PAGE}, got {limit}"
        raise ConfigError(problem, variable="limit", value=limit)


async def with_suggestion(error: UnknownRole, database: Database, names: Iterable[str | None]) -> UnknownRole:
    """Return the error with a suggestion, if a known name is similar to one of the names."""
    roles = [role.name for role in await database.run(insight.roles())]
    known = dict.fromkeys([*roles, *await database.run(insight.handler_names())])
    for name in names:
        if name not in known and (hint := close_to(name or "", known)):
            return UnknownRole(f"{error.problem}{hint}")
    return error


async def role_not_found(role: str, database: Database) -> RoleNotFound:
    """Return the error for an unknown role, with a suggestion."""
    error = await with_suggestion(UnknownRole(f"unknown role {role!r}"), database, [role])
    return RoleNotFound(error.problem)
