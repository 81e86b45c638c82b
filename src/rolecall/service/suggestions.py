"""Adds "did you mean" to an unknown role, from the names that the database knows."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from rolecall.model.errors import UnknownRole
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
