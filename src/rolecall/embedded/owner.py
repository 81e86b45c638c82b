"""The two users of the server: the owner of all databases, who is not a superuser, and the superuser.

The owner cannot create roles. The roles with least privilege, which it grants its tables to, are created here.

A superuser can read and run everything that the server's process can. So the superuser is not used for daily work: it
creates databases, and the owner's account if that is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import LiteralString

import psycopg
from psycopg import sql

from rolecall.embedded.connection import OWNER, SUPERUSER, Address, Login, connect
from rolecall.embedded.home import Home

Connection = psycopg.Connection[tuple[object, ...]]

# As in db/roles.sql.
LEAST_PRIVILEGE = ("rolecall_enqueue", "rolecall_read", "rolecall_work", "rolecall_operate")


def owner_of(home: Home) -> Login:
    """Return the login of the owner of all databases. Raises `DataDirectoryUnusable`."""
    return Login(OWNER, home.password())


def superuser_of(home: Home) -> Login:
    """Return the login of the superuser. Raises `DataDirectoryUnusable`."""
    return Login(SUPERUSER, home.superuser_password())


def admit_owner(address: Address, home: Home) -> str | None:
    """Connect as the owner, creating missing accounts; return the server's refusal, None if it accepts.

    Call it only under the start lock.
    """
    try:
        with _connect_as_owner(address, home) as connection:
            known = connection.execute("select rolname from pg_roles where rolname = any(%s)", [list(LEAST_PRIVILEGE)])
            missing = set(LEAST_PRIVILEGE) - {name for (name,) in known}
        if missing:
            _make_roles(address, home, [name for name in LEAST_PRIVILEGE if name in missing])
    except psycopg.OperationalError as error:
        return str(error).strip()
    return None


def _connect_as_owner(address: Address, home: Home) -> Connection:
    try:
        return connect(address, owner_of(home))
    except psycopg.OperationalError:
        _make_owner(address, home)
        return connect(address, owner_of(home))


def _make_owner(address: Address, home: Home) -> None:
    with connect(address, superuser_of(home)) as connection:
        known = connection.execute("select 1 from pg_roles where rolname = %s", [OWNER]).fetchone()
        _execute(connection, "alter role {} login" if known else "create role {} login", owner_of(home))


def _make_roles(address: Address, home: Home, names: Sequence[str]) -> None:
    with connect(address, superuser_of(home)) as connection:
        for name in names:
            connection.execute(sql.SQL("create role {} nologin").format(sql.Identifier(name)))


def _execute(connection: Connection, statement: LiteralString, login: Login) -> None:
    """Send a statement about a user with the password as a digest, because it may appear in the server's log."""
    digest = connection.pgconn.encrypt_password(login.password.encode(), login.user.encode(), b"scram-sha-256")
    named = sql.SQL(statement).format(sql.Identifier(login.user))
    connection.execute(sql.SQL("{} password {}").format(named, sql.Literal(digest.decode())))
