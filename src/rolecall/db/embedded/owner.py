"""The two users of the server: the owner of all databases, who is no superuser, and the superuser, who makes him.

A superuser can read and run whatever the server's process can. So he is nobody's daily user: he makes databases, and
the owner's account where it is missing. In clusters of earlier releases the owner was the superuser; when one is
opened, that account is renamed, another takes its name and its password, and its databases are handed over. What came
with an extension stays the superuser's.
"""

from __future__ import annotations

import secrets
from importlib.resources import files
from typing import LiteralString

import psycopg
from psycopg import sql

from rolecall.db.embedded.connection import OWNER, SUPERUSER, Address, Login, connect
from rolecall.db.embedded.errors import StillInUse
from rolecall.db.embedded.home import Home

__all__ = ["admit_owner", "owner_of", "superuser_of"]

# Makes the owner of an earlier release somebody else's subject; a session cannot rename its own user.
STAND_IN = "rolecall_stand_in"
HAND_OVER = files("rolecall.db.embedded") / "hand_over.sql"
IS_SUPERUSER = "select rolsuper from pg_roles where rolname = current_user"
# Stands at the superuser until all is handed over; what he makes himself, later, stays his.
MARK = "the databases of the release before are handed over to their owner"
MARKED = "select shobj_description(oid, 'pg_authid') = %s from pg_roles where rolname = %s"
NOT_HANDED_OVER = (
    "select datname from pg_database where datallowconn and not datistemplate"
    " and pg_get_userbyid(datdba) = %s and datname <> 'postgres' order by datname"
)

Connection = psycopg.Connection[tuple[object, ...]]


def owner_of(home: Home) -> Login:
    """Return who owns the databases. Raises `DataDirectoryUnusable`."""
    return Login(OWNER, home.password())


def superuser_of(home: Home) -> Login:
    """Return who may do everything. Raises `DataDirectoryUnusable`."""
    return Login(SUPERUSER, home.superuser_password())


def admit_owner(address: Address, home: Home) -> str | None:
    """Come in as the owner, making him first where that is needed; return why the server refuses, None if it does not.

    Only under the start lock. Raises `StillInUse` where a database cannot be handed over.
    """
    try:
        with _come_in(address, home) as connection:
            is_marked = connection.execute(MARKED, [MARK, SUPERUSER]).fetchone() == (True,)
            waiting = [str(name) for (name,) in connection.execute(NOT_HANDED_OVER, [SUPERUSER])]
    except psycopg.OperationalError as error:
        return str(error).strip()
    if is_marked:
        for name in waiting:
            _hand_over(address, superuser_of(home), name)
        with connect(address, superuser_of(home)) as connection:
            _mark(connection, sql.NULL)
    return None


def _come_in(address: Address, home: Home) -> Connection:
    """Connect as an owner who is no superuser."""
    try:
        connection = connect(address, owner_of(home))
    except psycopg.OperationalError:
        _make_owner(address, home)
        return connect(address, owner_of(home))
    if not _is_superuser(connection):
        return connection
    connection.close()
    home.make_superuser_password()
    _take_the_rights_away(address, home)
    return connect(address, owner_of(home))


def _is_superuser(connection: Connection) -> bool:
    row = connection.execute(IS_SUPERUSER).fetchone()
    return bool(row and row[0])


def _make_owner(address: Address, home: Home) -> None:
    with connect(address, superuser_of(home)) as connection:
        known = connection.execute("select 1 from pg_roles where rolname = %s", [OWNER]).fetchone()
        _execute(connection, "alter role {} login" if known else "create role {} login", owner_of(home))


def _take_the_rights_away(address: Address, home: Home) -> None:
    stand_in = Login(STAND_IN, secrets.token_urlsafe(24))
    with connect(address, owner_of(home)) as connection, connection.transaction():
        connection.execute(sql.SQL("drop role if exists {}").format(sql.Identifier(STAND_IN)))
        _execute(connection, "create role {} superuser login", stand_in)
    with connect(address, stand_in) as connection, connection.transaction():
        names = sql.Identifier(OWNER), sql.Identifier(SUPERUSER)
        connection.execute(sql.SQL("alter role {} rename to {}").format(*names))
        _execute(connection, "alter role {}", superuser_of(home))
        _mark(connection, sql.Literal(MARK))
        _execute(connection, "create role {} login", owner_of(home))
    with connect(address, superuser_of(home)) as connection:
        connection.execute(sql.SQL("drop role {}").format(sql.Identifier(STAND_IN)))


def _mark(connection: Connection, text: sql.Composable) -> None:
    connection.execute(sql.SQL("comment on role {} is {}").format(sql.Identifier(SUPERUSER), text))


def _execute(connection: Connection, statement: LiteralString, login: Login) -> None:
    """Say something of a user, and what his password is: as a digest, which may stand in the server's log."""
    digest = connection.pgconn.encrypt_password(login.password.encode(), login.user.encode(), b"scram-sha-256")
    named = sql.SQL(statement).format(sql.Identifier(login.user))
    connection.execute(sql.SQL("{} password {}").format(named, sql.Literal(digest.decode())))


def _hand_over(address: Address, superuser: Login, name: str) -> None:
    names = sql.Identifier(name), sql.Identifier(OWNER)
    try:
        with connect(address, superuser, name) as connection, connection.transaction():
            connection.execute(HAND_OVER.read_bytes())
            connection.execute(sql.SQL("alter database {} owner to {}").format(*names))
    except psycopg.errors.LockNotAvailable as error:
        raise StillInUse(name) from error
