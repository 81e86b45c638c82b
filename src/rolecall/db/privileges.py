"""The database roles for least privilege; roles.sql creates and documents them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

import psycopg

from rolecall.db.run import run
from rolecall.model.errors import ConfigError
from rolecall.sql.statement import Statement, single

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
    """Return the script that creates the roles, for people who run it in psql."""
    return SCRIPT.read_text(encoding="utf-8")


def are_granted(conn: Connection) -> bool:
    """Return whether the roles have privileges in this database."""
    return run(conn, GRANTED)


def grant(conn: Connection) -> None:
    """Run the script in the caller's transaction. Raises ConfigError if the user may not create roles."""
    with needing_the_owner(), psycopg.ClientCursor(conn) as cursor:
        cursor.execute(roles_text().encode())


@contextmanager
def needing_the_owner() -> Iterator[None]:
    """Raise ConfigError if the block lacks a privilege that only the owner of the schema has."""
    try:
        yield
    except psycopg.errors.InsufficientPrivilege as error:
        needs = (
            "must run as the owner of schema rolecall, who must be able to create the four roles if they are missing"
        )
        problem = f"{needs}: {error.diag.message_primary}"
        raise ConfigError(problem, variable="--roles") from error
