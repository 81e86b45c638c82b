"""`storecrawl reader`: a login for analysts, which can read the tables and change nothing."""

from __future__ import annotations

from secrets import token_urlsafe
from typing import Annotated, Final
from urllib.parse import quote, urlsplit

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo
from typer import Option, echo

from rolecall import ConfigError, grant_roles
from storecrawl.cli.connect import CrawlHome, DatabaseUrl, DataDir
from storecrawl.migrations import grant_crawl_tables

PASSWORD_BYTES: Final = 24
ROLE: Final = "rolecall_read"


def make_reader(
    *,
    name: Annotated[str, Option(metavar="NAME", help="The name of the login.")] = "storecrawl_reader",
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Create a login that can read all tables but those with secrets, and print its connection string.

    If the login exists, it gets a new password, and the old one stops working.
    """
    password = token_urlsafe(PASSWORD_BYTES)
    with CrawlHome(data_dir=data_dir, database_url=database_url).logins() as logins:
        with psycopg.connect(logins.owner, autocommit=True, prepare_threshold=None) as connection:
            grant_roles(connection)
            grant_crawl_tables(connection)
        with psycopg.connect(logins.creator, autocommit=True, prepare_threshold=None) as connection:
            _make_login(connection, name, password)
        echo(_address(logins.shown, name, password))


def _make_login(connection: psycopg.Connection[tuple[object, ...]], name: str, password: str) -> None:
    # The password is sent as a digest, because statements may appear in the server's log.
    digest = connection.pgconn.encrypt_password(password.encode(), name.encode(), b"scram-sha-256").decode()
    login, role = sql.Identifier(name), sql.Identifier(ROLE)
    try:
        with connection.transaction():
            known = connection.execute("select from pg_catalog.pg_roles where rolname = %s", [name]).fetchone()
            if known is None:
                connection.execute(sql.SQL("create role {} login").format(login))
            elif not _is_reader(connection, name):
                raise ConfigError("is a login with other rights; choose another name", variable="--name", value=name)
            connection.execute(sql.SQL("alter role {} password {}").format(login, sql.Literal(digest)))
            connection.execute(sql.SQL("alter role {} set default_transaction_read_only = on").format(login))
            connection.execute(sql.SQL("grant {} to {}").format(role, login))
    except psycopg.errors.InsufficientPrivilege as error:
        problem = f"must be of a user who can create roles: {error.diag.message_primary}"
        raise ConfigError(problem, variable="DATABASE_URL") from error


def _is_reader(connection: psycopg.Connection[tuple[object, ...]], name: str) -> bool:
    """Return whether a login is a member of the readers' role and of no other, and not a superuser."""
    row = connection.execute(
        "select not rolsuper and array(select roleid::regrole::text from pg_catalog.pg_auth_members"
        " where member = login.oid) = array[%s] from pg_catalog.pg_roles as login where rolname = %s",
        [ROLE, name],
    ).fetchone()
    return row is not None and bool(row[0])


def _address(address: str, name: str, password: str) -> str:
    parts = urlsplit(address)
    if parts.scheme not in {"postgres", "postgresql"}:
        return make_conninfo(address, user=name, password=password)
    place = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=f"{quote(name, safe='')}:{quote(password, safe='')}@{place}").geturl()
