"""What callers may ask for: names, lengths of pages; and what they may have meant instead."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from rolecall.model.errors import ConfigError, RoleNotFound, UnknownRole
from rolecall.service.database import Database
from rolecall.sql import insight

LONGEST_NAME = 100
LONGEST_PAGE = 1_000


def require_name(name: str) -> None:
    """Raise ConfigError for a name that would look like another one, or could not be read."""
    if not name.isprintable() or name != name.strip() or not 1 <= len(name) <= LONGEST_NAME:
        problem = f"a name is printable, without space at its ends, and 1 to {LONGEST_NAME} characters long"
        raise ConfigError(problem, variable="name", value=name)


def require_page(limit: int) -> None:
    """Raise ConfigError for a page that nobody should ask for."""
    if not 1 <= limit <= LONGEST_PAGE:
        problem = f"{limit} is not between 1 and {LONGEST_PAGE}"
        raise ConfigError(problem, variable="limit", value=limit)


async def with_suggestion(error: UnknownRole, database: Database, names: Iterable[str | None]) -> UnknownRole:
    """The same error, with a known name that is close to one of those asked for, where there is one."""
    roles = [role.name for role in await database.run(insight.roles())]
    known = dict.fromkeys([*roles, *await database.run(insight.handler_names())])
    for name in names:
        close = get_close_matches(name or "", known, n=1) if name not in known else []
        if close:
            return UnknownRole(f"{error.problem}; did you mean {close[0]!r}?")
    return error


async def role_not_found(role: str, database: Database) -> RoleNotFound:
    """The error for a role that was asked for by its name, with a known name that is close to it."""
    error = await with_suggestion(UnknownRole(f"unknown role {role!r}"), database, [role])
    return RoleNotFound(error.problem)
