"""Logins of their own for a test, members of the database roles that it names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

PASSWORD = "of a test"


@contextmanager
def login(owner: str, *roles: str) -> Iterator[str]:
    """Make a login and return how it reaches the same database; it is gone afterwards."""
    name = f"test_{uuid4().hex[:12]}"
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(
            sql.SQL("create role {} login password {}").format(sql.Identifier(name), sql.Literal(PASSWORD))
        )
        for role in roles:
            connection.execute(sql.SQL("grant {} to {}").format(sql.Identifier(role), sql.Identifier(name)))
        try:
            yield make_conninfo(owner, user=name, password=PASSWORD)
        finally:
            connection.execute(sql.SQL("drop owned by {0} cascade").format(sql.Identifier(name)))
            connection.execute(sql.SQL("drop role {}").format(sql.Identifier(name)))
