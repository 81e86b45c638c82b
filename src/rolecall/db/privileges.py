"""The database roles of least privilege: what makes them, and whether a database has them. The script says the rest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

import psycopg

from rolecall.db.run import run
from rolecall.model.errors import ConfigError
from rolecall.sql.statement import Statement, single

__all__ = ["are_granted", "grant", "needing_the_owner", "roles_text"]

SCRIPT = files("rolecall.db") / "roles.sql"
GRANTED: Statement[bool] = Statement(
    query=(
        "select exists (select from pg_namespace as place, aclexplode(place.nspacl) as may"
        " join pg_roles as known on known.oid = may.grantee"
        " where place.nspname = 'rolecall' and known.rolname = 'rolecall_work')"
    ),
    read=single,
)

Connection = psycopg.Connection[Any]


def roles_text() -> str:
    """Return the script that makes the roles, for people who let nobody but psql near their database."""
    return SCRIPT.read_text(encoding="utf-8")


def are_granted(conn: Connection) -> bool:
    """Whether the roles have been let into this database."""
    return run(conn, GRANTED)


def grant(conn: Connection) -> None:
    """Run the script in the caller's transaction. Raises ConfigError for a user who may not create roles."""
    with needing_the_owner(), psycopg.ClientCursor(conn) as cursor:
        cursor.execute(roles_text().encode())


@contextmanager
def needing_the_owner() -> Iterator[None]:
    """Raise ConfigError where the block lacks a privilege that only the owner of the schema has."""
    try:
        yield
    except psycopg.errors.InsufficientPrivilege as error:
        needs = "needs the owner of schema rolecall, and one who may create roles where the four are not there yet"
        problem = f"{needs}: {error.diag.message_primary}"
        raise ConfigError(problem, variable="--roles") from error
