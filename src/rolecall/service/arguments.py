"""Checks of arguments: names, page lengths, filters, rates, and suggestions for unknown names."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from rolecall.model.errors import ConfigError, RoleNotFound, UnknownRole
from rolecall.model.hints import close_to
from rolecall.model.operator.insight import BulkAction, TaskFilter
from rolecall.model.states import TaskState
from rolecall.service.database import Database
from rolecall.sql import insight

LONGEST_NAME = 100
LONGEST_PAGE = 1_000
LOWEST_RATE, HIGHEST_RATE = 0.01, 10_000.0
STATUSES = (*TaskState, "scheduled", "ready", "parked", "claimed", "stale", "hanging", "retrying")


def require_name(name: str) -> None:
    """Raise ConfigError for a name that is unreadable or could be mistaken for another one."""
    if not name.isprintable() or name != name.strip() or not 1 <= len(name) <= LONGEST_NAME:
        problem = f"must be printable, without spaces at its ends, and have 1 to {LONGEST_NAME} characters"
        raise ConfigError(problem, variable="name", value=name)


def require_page(limit: int) -> None:
    """Raise ConfigError for an invalid page length."""
    require_between("limit", limit, 1, LONGEST_PAGE)


def require_one_of(name: str, value: int, allowed: Collection[int]) -> None:
    """Raise ConfigError for an argument that is not one of a few."""
    if value not in allowed:
        raise ConfigError(f"must be one of {', '.join(map(str, allowed))}, got {value}", variable=name, value=value)


def require_between(name: str, value: float, least: float, most: float) -> None:
    """Raise ConfigError for an argument outside a range."""
    if not least <= value <= most:
        raise ConfigError(f"must be {least:.10g} to {most:.10g}, got {value:.10g}", variable=name, value=value)


def require_valid_filter(which: TaskFilter) -> None:
    """Raise ConfigError for an unknown state or a time without a zone."""
    if which.state is not None and which.state not in STATUSES:
        problem = f"{which.state!r} is not one of {', '.join(STATUSES)}"
        raise ConfigError(problem, variable="state", value=which.state)
    for name, value in which.conditions().items():
        if isinstance(value, datetime) and value.tzinfo is None:
            raise ConfigError(f"{value.isoformat()} has no time zone", variable=name, value=value)


def require_rate(action: BulkAction, rate: float | None) -> None:
    """Raise ConfigError for an invalid rate, or a rate of an action other than a retry."""
    if rate is None:
        return
    if action != "retry":
        raise ConfigError("only retries have a rate", variable="rate", value=rate)
    if not LOWEST_RATE <= rate <= HIGHEST_RATE:
        problem = f"must be {LOWEST_RATE:g} to {HIGHEST_RATE:g} tasks a second, got {rate:g}"
        raise ConfigError(problem, variable="rate", value=rate)


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
