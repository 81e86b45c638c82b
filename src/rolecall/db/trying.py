"""How a migration gets its locks: it waits for a moment, releases everything and tries again.

That way, other sessions do not queue behind it for long.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from time import monotonic, sleep
from typing import Any, TypeVar

import psycopg

from rolecall.db.holding import holding_claims
from rolecall.db.run import run
from rolecall.model.errors import DatabaseUnavailable, SchemaBusy
from rolecall.sql.statement import Statement

# The longest time for which others wait for us at one table, so that a deployment goes unnoticed.
BRIEFLY = "set local lock_timeout = '100ms';\n"
FIRST_PAUSE, LONGEST_PAUSE, GROWTH = 0.1, 2.0, 1.5
MOST_NAMED = 3
# A lock timeout, and a deadlock that the server resolved.
IN_THE_WAY = ("55P03", "40P01")
HOLDERS = """\
select format('session %%s (%%s, %%s) has used %%s for %%s s', pid,
    coalesce(nullif(application_name, ''), 'without a name'),
    coalesce(state, backend_type), string_agg(distinct relation::regclass::text, ', '),
    round(extract(epoch from clock_timestamp() - xact_start)))
from pg_locks
join pg_stat_activity using (pid)
join pg_class on pg_class.oid = relation
where granted and pid <> pg_backend_pid()
    and pg_locks.database = (select oid from pg_database where datname = current_database())
    and relkind in ('r', 'p', 'v') and relnamespace::regnamespace::text !~ '^(pg_|information_schema)'
group by pid, application_name, state, backend_type, xact_start
order by xact_start
limit %s
"""

T = TypeVar("T")


def retry_until_locked(conn: psycopg.Connection[Any], what: str, attempt: Callable[[], T], patience: float) -> T:
    """Repeat an attempt, which is a transaction of its own, until it gets its locks. Claims are held now and then
    meanwhile.

    Raises SchemaBusy with the sessions in the way after `patience` seconds.
    """
    end, pause = monotonic() + patience, FIRST_PAUSE
    with holding_claims(conn) as hold:
        while True:
            try:
                return attempt()
            except (psycopg.OperationalError, DatabaseUnavailable) as error:
                if error.sqlstate not in IN_THE_WAY:
                    raise
                if monotonic() >= end:
                    raise SchemaBusy(step=what, seconds=patience, holders=run(conn, _holders())) from error
            is_held = hold.keep()
            sleep(FIRST_PAUSE if is_held else pause * random.uniform(0.5, 1.0))
            pause = min(pause * GROWTH, LONGEST_PAUSE)


def _holders() -> Statement[Sequence[str]]:
    return Statement(query=HOLDERS, params=(MOST_NAMED,), read=lambda rows: [holder for (holder,) in rows])
