"""`storecrawl migrate`: migrate the tables of a database."""

from __future__ import annotations

from typing import Annotated

import psycopg
from typer import Option

from rolecall import grant_roles, migrate
from storecrawl.cli.connect import checked_address
from storecrawl.migrations import MIGRATIONS, grant_crawl_tables


def migrate_database(
    database_url: Annotated[
        str,
        Option(
            envvar="DATABASE_URL",
            metavar="URL",
            callback=checked_address,
            help="The database to migrate.",
        ),
    ],
    *,
    roles: Annotated[bool, Option("--roles", help="Also create the database roles with least privilege.")] = False,
) -> None:
    """Migrate Rolecall's and the crawler's tables in a database."""
    with psycopg.connect(database_url, autocommit=True, prepare_threshold=None) as connection:
        done = migrate(connection) + [f"{MIGRATIONS.name}/{step}" for step in migrate(connection, MIGRATIONS)]
        if roles:
            grant_roles(connection)
            grant_crawl_tables(connection)
    print("\n".join(done) or "nothing to do")
