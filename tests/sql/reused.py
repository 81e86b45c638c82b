"""A database that many tests use one after another, through one session that has compiled the engine's functions.

A new database costs each test a copy of 600 files and a session without cached catalogs and plans: 150 ms of CPU time.
Restoring the contents costs 5 ms. Every statement is committed as in a new database.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.sql import SQL, Composed, Identifier, Literal

from rolecall.db.connect import connect
from rolecall.testing import TestServer, clone

Connection = psycopg.Connection[Any]

# Deleted rows stay in the files until a vacuum.
MOST_RESTORES = 200
OUR_TABLES = """
    select oid::regclass::text as name, pg_relation_size(oid) > 0 as has_rows,
        array(
            select attname::text from pg_attribute
            where attrelid = pg_class.oid and attnum > 0 and not attisdropped and attgenerated = ''
        ) as columns
    from pg_class
    where relkind = 'r' and relnamespace >= 16384 and relpersistence <> 't'
"""
SEQUENCES = "select format('%I.%I', schemaname, sequencename), start_value, last_value from pg_sequences"
# The catalogs of definitions and privileges, without those of temporary tables.
CATALOGS = {
    "pg_class": "relpersistence <> 't'",
    "pg_attribute": "exists (select from pg_class where oid = attrelid and relpersistence <> 't')",
    "pg_index": "exists (select from pg_class where oid = indexrelid and relpersistence <> 't')",
    "pg_proc": "pronamespace <> pg_my_temp_schema()",
    "pg_namespace": "nspname !~ '^pg_'",
    "pg_constraint": "true",
    "pg_trigger": "true",
}
# Changes with every definition, privilege and setting of the database, but not with its rows.
ROWS = "select count(*)::text, max(xmin::text::int8)::text from {} where {}"
HERE = "select oid from pg_database where datname = current_database()"
DEFINITIONS = " union all ".join(
    [
        *(ROWS.format(catalog, which) for catalog, which in CATALOGS.items()),
        f"select datacl::text, (datdba, datconnlimit, datallowconn)::text from pg_database where oid = ({HERE})",
        f"select setrole::text, setconfig::text from pg_db_role_setting where setdatabase = ({HERE})",
        "select gid, owner::text from pg_prepared_xacts where database = current_database()",
    ]
)
END_OTHER_SESSIONS = """
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> all (%s) and backend_type = 'client backend'
"""
RESET_SESSION = (
    "reset session authorization",
    "reset all",
    "unlisten *",
    "close all",
    "discard sequences",
    "discard temp",
    "select pg_advisory_unlock_all()",
)


class ReusedDatabase:
    """One database with the session of the tests, and one that restores the contents between them."""

    def __init__(self, dsn: str, stack: ExitStack) -> None:
        self.dsn = dsn
        self.restores = 0
        self._stack = stack
        self.connection = self._connect()
        self._cleaner = stack.enter_context(psycopg.connect(dsn, autocommit=True))
        # Rows are deleted without the triggers that forbid or follow it.
        self._cleaner.execute("set session_replication_role = replica")
        self._make_restore()
        self._definitions = self._read_definitions()

    def restore(self) -> bool:
        """Return to the state of a new database; return False if only a new database can do so."""
        if not self.connection.closed and self.connection.info.transaction_status is not TransactionStatus.IDLE:
            self.connection.close()
        ours = [self._cleaner.info.backend_pid]
        if not self.connection.closed:
            ours.append(self.connection.info.backend_pid)
        self._cleaner.execute(END_OTHER_SESSIONS, (ours,))
        if self._read_definitions() != self._definitions:
            return False
        self.restore_contents()
        if self.connection.closed:
            self.connection = self._connect()
        else:
            for statement in RESET_SESSION:
                self.connection.execute(statement)
            list(self.connection.notifies(timeout=0))
        return True

    def restore_contents(self) -> None:
        """Return to the original rows and sequences. Waits for transactions that have locked rows."""
        self.restores += 1
        self._cleaner.execute("select pg_temp.restore()")

    def _connect(self) -> Connection:
        return self._stack.enter_context(connect(self.dsn, "test"))

    def _read_definitions(self) -> list[tuple[Any, ...]]:
        return self._cleaner.execute(DEFINITIONS.encode()).fetchall()

    def _make_restore(self) -> None:
        """Create a function whose statements are planned once."""
        statements = [*self._restored_tables(), *self._restored_sequences()]
        body = SQL("begin {} end").format(SQL(" ").join(statements)).as_string(self._cleaner)
        create = SQL("create function pg_temp.restore() returns void language plpgsql as {}")
        self._cleaner.execute(create.format(Literal(body)))

    def _restored_tables(self) -> Iterator[Composed]:
        for number, (name, has_rows, columns) in enumerate(self._cleaner.execute(OUR_TABLES).fetchall()):
            table = SQL(name)
            yield SQL("delete from only {};").format(table)
            if has_rows:
                saved, listed = Identifier("pg_temp", f"saved_{number}"), SQL(", ").join(map(Identifier, columns))
                self._cleaner.execute(SQL("create temp table {} as select {} from {}").format(saved, listed, table))
                restore = SQL("insert into {} ({}) overriding system value select {} from {};")
                yield restore.format(table, listed, listed, saved)

    def _restored_sequences(self) -> Iterator[Composed]:
        for name, start, last in self._cleaner.execute(SEQUENCES).fetchall():
            yield SQL("perform setval({}, {}, {});").format(name, start if last is None else last, last is not None)


class Reused:
    """The current database, which is replaced after many tests and after a test that has changed definitions."""

    def __init__(self, server: TestServer, template: str) -> None:
        self._server = server
        self._template = template
        self._stack = ExitStack()
        self._current: ReusedDatabase | None = None

    @contextmanager
    def borrow(self) -> Iterator[ReusedDatabase]:
        """Yield a database in its original state."""
        self._current = current = self._current or self._new()
        try:
            yield current
        finally:
            if not current.restore() or current.restores >= MOST_RESTORES:
                self.close()

    def close(self) -> None:
        """Drop the current database."""
        self._current = None
        self._stack.close()

    def _new(self) -> ReusedDatabase:
        return ReusedDatabase(self._stack.enter_context(clone(self._server, self._template)), self._stack)
