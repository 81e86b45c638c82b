"""The previous release: its database is migrated, and the functions that its workers call still exist.

`tests/db/released.sql.gz` is its database, written by `python tools/schema.py --release` at the release.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
import pytest

from rolecall.db.connect import connect
from rolecall.db.migrator import ROLECALL, migrate, pending, plan
from rolecall.testing import TestServer, clone
from tests.db.released_calls import after_each_step, released_worker
from tests.db.shop import Connection
from tests.db.test_steps import BEFORE_THE_RULE
from tests.sql.test_schema import tables
from tools.schema import RELEASED

SIGNATURES = """
select proname, pg_get_function_identity_arguments(pg_proc.oid), coalesce(proargnames[1:pronargs], '{}'),
    array(select format_type(given, null) from unnest(proargtypes) as given),
    pronargdefaults, pg_get_function_result(pg_proc.oid)
from pg_proc where pronamespace = 'rolecall'::regnamespace order by 1, 2
"""
COLUMNS = """
select attrelid::regclass::text, array_agg(attname || ' ' || format_type(atttypid, atttypmod) order by attnum)
from pg_attribute join pg_class on pg_class.oid = attrelid
where relnamespace = 'rolecall'::regnamespace and relkind = 'v' and attnum > 0 group by 1 order by 1
"""
TEXTS = """
select proname || '(' || pg_get_function_identity_arguments(oid) || ')', pg_get_functiondef(oid)
from pg_proc where pronamespace = 'rolecall'::regnamespace
"""


@dataclass(frozen=True, slots=True)
class Signature:
    name: str
    shown: str
    names: list[str]
    types: list[str]
    defaults: int
    result: str

    def answers(self, call: Signature) -> bool:
        """Return whether this function accepts the calls of another one, with named or positional arguments."""
        given = len(call.names)
        return (
            self.name == call.name
            and (self.names[:given], self.types[:given], self.result) == (call.names, call.types, call.result)
            and len(self.names) - given <= self.defaults
            and self.defaults - (len(self.names) - given) >= call.defaults
        )


@pytest.fixture(scope="module")
def released(postgres_server: TestServer) -> Iterator[str]:
    """A database of the previous release."""
    with clone(postgres_server, "template1") as dsn:
        with connect(dsn, "test") as connection:
            _load(connection)
        yield dsn


@pytest.fixture(scope="module")
def signatures(released: str) -> list[Signature]:
    """The signatures of the previous release."""
    with connect(released, "test") as connection:
        return _signatures(connection)


def test_what_the_release_before_calls_is_answered_as_it_was(
    signatures: list[Signature], connection: Connection
) -> None:
    called = gzip.decompress(RELEASED.read_bytes()).decode().splitlines()[0].removeprefix("-- called: ").split()
    here = _signatures(connection)

    gone = [
        f"{call.name}({call.shown}) returns {call.result}"
        for call in signatures
        if call.name in called and not any(function.answers(call) for function in here)
    ]

    assert "claim" in called
    assert gone == [], "the previous release calls these functions: keep them next to the new ones (decision 0016)"


def test_its_views_keep_their_columns(released: str, connection: Connection) -> None:
    with connect(released, "test") as before:
        known: dict[str, list[str]] = dict(before.execute(COLUMNS).fetchall())

    here = dict(connection.execute(COLUMNS).fetchall())

    assert {view: here[view][: len(columns)] for view, columns in known.items()} == known


def test_its_database_becomes_that_of_this_release(postgres_server: TestServer, connection: Connection) -> None:
    with clone(postgres_server, "template1") as dsn, connect(dsn, "test") as migrated:
        _load(migrated)
        migrated.execute("insert into rolecall.roles (name) values ('old')")
        assert "functions" in {planned.step for planned in plan(migrated)}

        migrate(migrated)

        assert pending(migrated) == []
        assert tables(migrated) == tables(connection)
        texts: dict[str, str] = dict(migrated.execute(TEXTS).fetchall())
        assert {name: texts.get(name) for name, _ in connection.execute(TEXTS)} == dict(
            connection.execute(TEXTS).fetchall()
        )
        keep = migrated.execute("select keep_completed::text, keep_failed::text from rolecall.roles").fetchall()
        assert keep == [("7 days", "30 days")], "the retention of existing roles is not changed"


def test_its_names_for_the_audit_log_lead_to_the_audit_log(connection: Connection) -> None:
    connection.execute("select rolecall.record_deed('ada', 'cli', null, 'tasks.retry', '{}', null)")
    # The function of that release does this, and it runs on the new tables until it is replaced.
    connection.execute(
        "insert into rolecall.deeds (at, actor, via, action, detail) values (now(), 'bo', 'api', 'x', '{}')"
    )

    old = connection.execute("select id, actor, action from rolecall.deeds order by id").fetchall()

    assert [row[1:] for row in old] == [("ada", "tasks.retry"), ("bo", "x")]
    assert old == connection.execute("select id, actor, action from rolecall.audit_log order by id").fetchall()


def test_a_fresh_database_has_nothing_that_no_file_makes(connection: Connection) -> None:
    made = {name.removeprefix("rolecall.") for file in ROLECALL.files() for name in file.creates}
    made |= {"is_sound"}  # A check constraint calls it, so it is created with the table.

    assert {signature.name for signature in _signatures(connection)} <= made


def _load(connection: Connection) -> None:
    script = gzip.decompress(RELEASED.read_bytes()).decode()
    with psycopg.ClientCursor(connection) as cursor:
        cursor.execute(f"set check_function_bodies = off;\n{script}".encode())
    connection.execute("reset all")


def _signatures(connection: Connection) -> list[Signature]:
    return [Signature(*row) for row in connection.execute(SIGNATURES).fetchall()]


def test_its_workers_work_after_each_step_to_this_release(postgres_server: TestServer) -> None:
    with clone(postgres_server, "template1") as dsn, connect(dsn, "test") as migrated:
        _load(migrated)
        known = migrated.execute("select max(version) from rolecall.schema_migrations").fetchone()
        if known is not None and known[0] <= BEFORE_THE_RULE:
            pytest.skip("the snapshot is older than the rule that steps only expand; tests/db/test_steps.py holds it")
        with released_worker(dsn) as worker:
            watch = after_each_step(worker)
            migrate(migrated, after_commit=watch)

    assert watch.failed == {}
    assert watch.seen[-1] == ROLECALL.steps()[-1].label
