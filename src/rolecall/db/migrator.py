"""Applies migrations: forward only, while workers run, and safe under concurrent migrators.

    expand       numbered files, in order: one transaction each, which also records the checksum; with the header
                 `-- transaction: no` statement by statement, recorded after the last one
    functions    functions and views whose text has changed, in one transaction with the numbered files of this phase
    contract     numbered files that drop unused objects

The functions of the previous release work after each step, until the new ones replace all of them at once. A migrator
locks the register while it applies a step and reads the state again under the lock, so concurrent migrators share the
work. The lock is not an advisory one, which every login could take: it needs the right to write to the register.
No step waits long for a lock: it is rolled back and retried, and after some time claims are paused for seconds
(`trying`, `holding`). Functions lock no table. A view is replaced only if it changes.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from time import sleep
from typing import Any

import psycopg

from rolecall.db.connect import connect
from rolecall.db.indexes import pieces, statements, without_concurrently
from rolecall.db.migrations import (
    FUNCTIONS_VERSION,
    ROLECALL,
    Migration,
    Migrations,
    Phase,
    Release,
    SqlFile,
    changed_files,
    judge,
    refuse_newer,
    require_current,
)
from rolecall.db.privileges import are_granted, grant, needing_the_owner, roles_text
from rolecall.db.register import REGISTER, exists, read_register, read_state, record
from rolecall.db.run import run, run_async, translating_errors
from rolecall.db.trying import BRIEFLY, retry_until_locked
from rolecall.model.errors import DatabaseUnavailable, MigrationFailed, SchemaTooNew
from rolecall.sql import retention
from rolecall.sql.statement import Statement, single

# For how many seconds a step that does not get its locks is retried.
PATIENCE = 60.0
BETWEEN_LOOKS = 0.2
# A snapshot taken before the lock would not show the changes of the previous migrator.
BEGIN = "set transaction isolation level read committed;\n"
LOCK = "lock table rolecall.schema_migrations in share row exclusive mode"
# Functions may refer to each other in any order; the session's timeouts do not apply to a migration.
SETTINGS = """\
set local check_function_bodies = off;
set local statement_timeout = 0;
set local idle_in_transaction_session_timeout = 0;
"""
# If the user has the name of our schema, objects that another package creates without a schema would be created in it.
STAY_OUT = "select set_config('search_path', 'public', true) where current_schema() = 'rolecall';\n"
MADE_ALREADY = (psycopg.errors.UniqueViolation, psycopg.errors.DuplicateSchema, psycopg.errors.DuplicateTable)
Connection = psycopg.Connection[Any]
SAME_VIEW = """\
select count(distinct (pg_get_viewdef(oid), reloptions, (
    select array_agg((attname, atttypid) order by attnum) from pg_attribute where attrelid = pg_class.oid and attnum > 0
))) = 1
from pg_class where oid in (%s::regclass, %s::regclass)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedMigration:
    """A pending step: whether it runs in a transaction and, for functions and views, which files it applies."""

    step: str
    transaction: bool
    files: tuple[str, ...] = ()


def migrate(
    conn: Connection,
    migrations: Migrations = ROLECALL,
    *,
    patience: float = PATIENCE,
    after_commit: Callable[[Sequence[str]], object] | None = None,
) -> list[str]:
    """Bring the database to this release's schema; return the labels of the steps that this call applied.

    Commits after each step: the connection must not be in a transaction. Writes nothing when nothing is pending.
    `after_commit` is called with the labels of the steps of each commit. Waits for another migrator as long as that
    is running. If a step does not get its locks, all roles are paused for some seconds at a time (`holding`).

    Raises SchemaTooNew for a database of a newer release, SchemaDrift if an applied file was edited, SchemaBusy if a
    step has not got its locks within `patience` seconds, MigrationFailed if the database rejects a step, and
    InvalidDeclaration for files that cannot be applied.
    """
    release, done = migrations.read(), list[str]()
    with translating_errors(), _without_prepared_statements(conn):
        while steps := _pending_steps(conn, release):
            with _naming_step(release, steps[0]):
                _make_register(conn)
            applied = retry_until_locked(conn, steps[0].label, lambda: _apply_next(conn, release, patience), patience)
            if applied is None:
                sleep(BETWEEN_LOOKS * random.uniform(0.5, 1.0))
            else:
                done += applied
                if after_commit and applied:
                    after_commit(applied)
    return done


def grant_roles(conn: Connection) -> None:
    """Create the four database roles and grant their rights. Each later migrate grants the rights again automatically.

    Commits: the connection must not be in a transaction. Raises ConfigError if the user may not create roles.
    """
    with translating_errors(), _without_prepared_statements(conn):
        while not _try_to_grant(conn):
            sleep(BETWEEN_LOOKS)


def pending(conn: Connection, migrations: Migrations = ROLECALL) -> list[str]:
    """Return the labels of the steps that migrate would apply now."""
    return [step.label for step in _pending_steps(conn, migrations.read())]


def plan(conn: Connection, migrations: Migrations = ROLECALL) -> list[PlannedMigration]:
    """Return the steps that migrate would apply now. Changes nothing."""
    release = migrations.read()
    changed = tuple(file.name for file in changed_files(release, read_state(conn, release)))
    return [
        PlannedMigration(
            step=step.label,
            transaction=not step.alone,
            files=changed if step.version == FUNCTIONS_VERSION else (),
        )
        for step in _pending_steps(conn, release)
    ]


def check(conn: Connection, migrations: Migrations = ROLECALL) -> None:
    """Raise SchemaMissing, SchemaTooNew or SchemaDrift unless this release can run on the database."""
    release = migrations.read()
    require_current(release, read_state(conn, release).applied)


async def check_async(conn: psycopg.AsyncConnection[Any], *packages: Migrations) -> None:
    """Raise SchemaMissing, SchemaTooNew or SchemaDrift unless this release can run on the database.

    Checks the given packages in their order, by default Rolecall's own.
    """
    has_register = await run_async(conn, exists("rolecall.schema_migrations"))
    for migrations in packages or (ROLECALL,):
        applied = await run_async(conn, read_register(migrations.name)) if has_register else []
        require_current(migrations.read(), applied)


def sql_text(migrations: Migrations = ROLECALL) -> str:
    """Return the whole schema as one psql script for an empty database."""
    release = migrations.read()
    parts = ["begin;\n", BEGIN, SETTINGS, REGISTER, f"{LOCK};\n"]
    for step in release.steps:
        sql = without_concurrently(step.sql) if step.alone else step.sql
        parts += [f"\n-- {release.package}: {step.label}\n", sql, "\n", record(release, step)]
    return "".join([*parts, "commit;\n"])


def pending_sql(conn: Connection, migrations: Migrations = ROLECALL) -> str:
    """Return the pending steps for this database as a psql script, with a transaction for each commit.

    A step that does not get its locks quickly fails: generate the script again and run it.
    """
    release, parts = migrations.read(), []
    begin = f"begin;\n{BEGIN}{SETTINGS}{REGISTER}{LOCK};\n{BRIEFLY}"
    steps = _pending_steps(conn, release)
    while steps:
        batch = _first_batch(steps)
        steps = steps[len(batch) :]
        if batch[0].alone:
            parts += [f"{piece.sql};\n" for statement in statements(batch[0].sql) for piece in pieces(conn, statement)]
        parts.append(begin)
        for step in batch:
            sql = "" if step.alone else f"{_text_of(conn, release, step)}\n"
            parts.append(f"\n-- {release.package}: {step.label}\n{sql}{record(release, step)}")
        parts.append("commit;\n")
    return "".join(parts)


@contextmanager
def _without_prepared_statements(conn: Connection) -> Iterator[None]:
    """Disable prepared statements: behind a transaction pooler, the next transaction runs in another session."""
    threshold, conn.prepare_threshold = conn.prepare_threshold, None
    try:
        yield
    finally:
        conn.prepare_threshold = threshold


def _apply_next(conn: Connection, release: Release, patience: float) -> list[str] | None:
    """Apply the steps of the next commit. Return None while another migrator is at work."""
    with conn.transaction():
        _execute(conn, BEGIN)
        # Does not wait: a migrator that builds an index concurrently waits for all sessions that wait with a snapshot.
        if not _try_to_lock(conn):
            return None
        _execute(conn, SETTINGS + BRIEFLY)
        steps = _pending_steps(conn, release)
        if not steps:
            return []
        batch = _first_batch(steps)
        for step in batch:
            with _naming_step(release, step):
                _apply(conn, release, step, patience)
            _execute(conn, record(release, step))
        if release.package == ROLECALL.name and are_granted(conn):
            # In the same transaction, because replaced functions have lost their owner's rights.
            grant(conn)
    return [step.label for step in batch]


def _first_batch(steps: Sequence[Migration]) -> list[Migration]:
    """Return the steps of the next commit: the functions with the files of their phase, or one step alone."""
    together = list(takewhile(lambda step: step.phase is Phase.FUNCTIONS, steps))
    return together or [steps[0]]


def _make_register(conn: Connection) -> None:
    """Create the register that migrators lock, if it does not exist. Several migrators may try at once."""
    with suppress(*MADE_ALREADY), conn.transaction():
        if not run(conn, exists("rolecall.schema_files")):
            _execute(conn, REGISTER)


def _try_to_lock(conn: Connection) -> bool:
    """Lock the register until the transaction ends. Return False while another migrator holds the lock."""
    try:
        with conn.transaction():
            _execute(conn, f"{LOCK} nowait;")
    except psycopg.errors.LockNotAvailable:
        return False
    return True


def _apply(conn: Connection, release: Release, step: Migration, patience: float) -> None:
    if release.package != ROLECALL.name:
        _execute(conn, STAY_OUT)
    if step.version == FUNCTIONS_VERSION:
        for file in changed_files(release, read_state(conn, release)):
            _apply_file(conn, file)
    elif step.alone:
        _apply_alone(conn, step, patience)
    else:
        _execute(conn, step.sql)


@contextmanager
def _naming_step(release: Release, step: Migration) -> Iterator[None]:
    """Name the step that the database rejects. Missing locks and a read-only database are not errors of the step."""
    try:
        yield
    except (psycopg.OperationalError, psycopg.errors.ReadOnlySqlTransaction):
        raise
    except psycopg.Error as error:
        problem = error.diag.message_primary or str(error)
        raise MigrationFailed(
            problem, package=release.package, migration=step.label, sqlstate=error.sqlstate
        ) from error


def _try_to_grant(conn: Connection) -> bool:
    with needing_the_owner(), conn.transaction():
        _execute(conn, BEGIN)
        if free := _try_to_lock(conn):
            _execute(conn, SETTINGS)
            grant(conn)
    return free


def _apply_file(conn: Connection, file: SqlFile) -> None:
    if file.view is None or not _is_same_view(conn, file.view, file.sql):
        _execute(conn, file.sql)


def _is_same_view(conn: Connection, name: str, sql: str) -> bool:
    """Return whether the text defines the existing view. Replacing the view would block its readers."""
    if not run(conn, exists(name)):
        return False
    other = f"{name}_compared"
    with conn.transaction(force_rollback=True):
        _execute(conn, re.sub(rf"(?i)create or replace view {re.escape(name)}\b", f"create view {other}", sql, count=1))
        return run(conn, _are_same_view(name, other))


def _are_same_view(one: str, other: str) -> Statement[bool]:
    return Statement(query=SAME_VIEW, params=(one, other), read=single)


def _apply_alone(conn: Connection, step: Migration, patience: float) -> None:
    """Run the statements on a second connection, while this connection's transaction has the lock and no snapshot."""
    with psycopg.connect(conn.info.dsn, password=conn.info.password, autocommit=True, prepare_threshold=None) as other:
        for statement in statements(step.sql):
            for piece in pieces(other, statement):
                if piece.briefly:
                    retry_until_locked(other, step.label, partial(_execute_briefly, other, piece.sql), patience)
                else:
                    _execute(other, piece.sql)


def _execute_briefly(conn: Connection, sql: str) -> None:
    with conn.transaction():
        _execute(conn, BRIEFLY + sql)


def _pending_steps(conn: Connection, release: Release) -> list[Migration]:
    state = read_state(conn, release)
    refuse_newer(release, state.applied, even_compatible=True)
    return judge(release, state)


def _text_of(conn: Connection, release: Release, step: Migration) -> str:
    if step.version != FUNCTIONS_VERSION:
        return step.sql
    roles = [roles_text()] if release.package == ROLECALL.name and are_granted(conn) else []
    return "\n".join([*(file.sql for file in changed_files(release, read_state(conn, release))), *roles])


def _execute(conn: Connection, script: str) -> None:
    # A ClientCursor sends the text unchanged, so that one call can contain many statements.
    with psycopg.ClientCursor(conn) as cursor:
        cursor.execute(script.encode())


def bring_up_to_date(dsn: str, packages: Iterable[Migrations] = (ROLECALL,)) -> None:
    """Migrate the embedded database, so that it can be used immediately.

    A database that a newer release has migrated is not changed if this release can run on it. Raises SchemaTooNew
    if it cannot, and the other errors of `migrate`.
    """
    with connect(dsn, "migrate") as connection:
        for package in packages:
            try:
                if migrate(connection, package) and package is ROLECALL:
                    make_room(connection)
            except SchemaTooNew:
                check(connection, package)


def make_room(connection: psycopg.Connection[Any]) -> None:
    """Create the partitions of the coming days. If the tables are too busy, a maintenance duty creates them later."""
    with suppress(DatabaseUnavailable):
        run(connection, retention.make_partitions())
