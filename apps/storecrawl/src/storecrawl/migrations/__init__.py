"""The crawler's own tables, and the rights of Rolecall's database roles to them.

The migrations are numbered, forward-only SQL files, executed in order. `./dev schema` generates the first one from
the files of the package's `schema` folder.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import psycopg

from rolecall import Migrations

MIGRATIONS = Migrations(name="storecrawl", folder=files("storecrawl.migrations"))
# Routes and webhooks contain passwords and secrets. Only the owner can refresh the statistics: a task of one role.
GRANTS = b"""\
grant usage on schema storecrawl to rolecall_work, rolecall_operate, rolecall_read;
grant select, insert, update, delete on all tables in schema storecrawl to rolecall_work, rolecall_operate;
grant usage on all sequences in schema storecrawl to rolecall_work, rolecall_operate;
grant select on all tables in schema storecrawl to rolecall_read;
revoke all on storecrawl.routes, storecrawl.webhooks from rolecall_read;
grant execute on function storecrawl.keep_history_months to rolecall_work;
alter default privileges in schema storecrawl
    grant select, insert, update, delete on tables to rolecall_work, rolecall_operate;
alter default privileges in schema storecrawl grant usage on sequences to rolecall_work, rolecall_operate;
"""


def grant_crawl_tables(connection: psycopg.Connection[Any]) -> None:
    """Grant what workers, the API and readers need of the crawler's schema, in one transaction."""
    with connection.transaction():
        connection.execute(GRANTS)
