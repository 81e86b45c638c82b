from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from rolecall.db.connect import connect, connect_async, with_defaults
from rolecall.db.run import run, run_all, run_all_async, run_and_async, run_async
from rolecall.model.errors import (
    ConfigError,
    DatabaseError,
    DatabaseUnavailable,
    InvalidTask,
    RowsBusy,
    SchemaMissing,
    UnknownRole,
)
from rolecall.sql.statement import Statement, ignore_rows, single

Ask = Callable[[Statement[Any]], Awaitable[Any]]
NOWHERE = "host=127.0.0.1 port=1 dbname=none"


@pytest.fixture(params=["sync", "async"])
async def ask(
    request: pytest.FixtureRequest, database: str
) -> AsyncIterator[Callable[[Statement[Any]], Awaitable[Any]]]:
    """The synchronous and the asynchronous executor behind one interface."""
    if request.param == "async":
        async with await connect_async(database, "test") as aconnection:
            yield lambda statement: run_async(aconnection, statement)
        return
    with connect(database, "test") as connection:

        async def ask(statement: Statement[Any]) -> Any:
            return run(connection, statement)

        yield ask


def raising(sqlstate: str) -> Statement[Any]:
    body = f"begin raise exception using errcode = '{sqlstate}', message = 'the message'; end"
    return Statement(query=f"do $$ {body} $$", read=ignore_rows)


async def test_statement_reads_its_rows(ask: Ask) -> None:
    assert await ask(Statement(query="select %s::int + 1", params=(41,), read=single)) == 42


@pytest.mark.parametrize(
    ("sqlstate", "error"),
    [
        ("RC040", InvalidTask),
        ("RC031", UnknownRole),
        ("22P05", InvalidTask),
        ("3F000", SchemaMissing),
        ("40P01", DatabaseUnavailable),
        ("55P03", RowsBusy),
        ("57P01", DatabaseUnavailable),
        ("53100", DatabaseUnavailable),
        ("58030", DatabaseUnavailable),
        ("XX000", DatabaseUnavailable),
        ("22012", DatabaseError),
    ],
)
async def test_sqlstate_determines_the_error(ask: Ask, sqlstate: str, error: type[DatabaseError]) -> None:
    with pytest.raises(error) as raised:
        await ask(raising(sqlstate))

    assert type(raised.value) is error
    assert raised.value.problem.partition(":")[0] == "the message"
    assert isinstance(raised.value.__cause__, psycopg.Error)


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        ('schema "rolecall" does not exist', 'schema "rolecall" does not exist; run: rolecall migrate'),
        ("function shop.merge(jsonb) does not exist", "function shop.merge(jsonb) does not exist"),
    ],
)
def test_missing_schema_error_names_the_command_only_if_it_helps(problem: str, expected: str) -> None:
    assert str(SchemaMissing(problem)) == expected


TRIES = """
create sequence tries;
create function deadlock(times int) returns void language plpgsql as $$ begin
    if nextval('tries') <= times then
        raise exception using errcode = '40P01';
    end if;
end $$
"""


@pytest.mark.parametrize("together", [1, 2])
@pytest.mark.parametrize("face", ["sync", "async"])
async def test_own_transaction_is_retried_after_a_deadlock(
    database: str, connection: psycopg.Connection[Any], face: str, together: int
) -> None:
    connection.execute(TRIES)
    statements = [Statement(query="select deadlock(3)", read=ignore_rows)] * together
    if face == "sync":
        with connect(database, "test") as own:
            run_all(own, statements)
    else:
        async with await connect_async(database, "test") as own:
            await run_all_async(own, statements)

    assert connection.execute("select last_value from tries").fetchone() == (3 + together,)


def test_callers_transaction_is_not_retried(database: str, connection: psycopg.Connection[Any]) -> None:
    connection.execute(TRIES)
    with psycopg.connect(database) as other, pytest.raises(DatabaseUnavailable):
        run(other, Statement(query="select deadlock(1)", read=ignore_rows))

    assert connection.execute("select last_value from tries").fetchone() == (1,)


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
async def test_text_that_cannot_be_encoded_raises_invalid_task(ask: Ask, text: str) -> None:
    with pytest.raises(InvalidTask):
        await ask(Statement(query="select %s::text", params=(text,), read=single))


async def test_lost_connection_raises_database_unavailable(ask: Ask) -> None:
    with pytest.raises(DatabaseUnavailable):
        await ask(Statement(query="select pg_terminate_backend(pg_backend_pid())", read=ignore_rows))


def test_connection_with_another_row_factory_is_read_correctly(database: str) -> None:
    with psycopg.connect(database, row_factory=dict_row, cursor_factory=psycopg.ClientCursor) as connection:
        assert run(connection, Statement(query="select %s::int", params=(7,), read=single)) == 7


def test_callers_transaction_is_not_committed(database: str, connection: psycopg.Connection[Any]) -> None:
    connection.execute("create table marks (n int)")
    with psycopg.connect(database) as other:
        run(other, Statement(query="insert into marks values (1) returning n", read=single))
        other.rollback()

    assert connection.execute("select count(*) from marks").fetchall() == [(0,)]


INSERTS = [
    Statement(query="insert into marks values (%s::int) returning n", params=(n,), read=single) for n in (1, 2, 1)
]


@pytest.fixture
def marks(connection: psycopg.Connection[Any]) -> Callable[[], int]:
    """Returns the number of rows that other sessions see."""
    connection.execute("create table marks (n int primary key)")
    return lambda: len(connection.execute("select n from marks").fetchall())


def test_failing_statement_rolls_back_all_statements(database: str, marks: Callable[[], int]) -> None:
    with connect(database, "test") as own, pytest.raises(DatabaseError):
        run_all(own, INSERTS)

    assert marks() == 0


async def test_failing_statement_rolls_back_all_statements_async(database: str, marks: Callable[[], int]) -> None:
    async with await connect_async(database, "test") as own:
        with pytest.raises(DatabaseError):
            await run_all_async(own, INSERTS)

    assert marks() == 0


def test_statements_commit_together_on_an_autocommit_connection(database: str, marks: Callable[[], int]) -> None:
    with connect(database, "test") as own:
        assert run_all(own, INSERTS[:2]) == [1, 2]
        assert marks() == 2


@pytest.mark.parametrize("autocommit", [True, False])
def test_statements_wait_for_the_callers_commit(database: str, marks: Callable[[], int], *, autocommit: bool) -> None:
    with psycopg.connect(database, autocommit=autocommit) as own:
        if autocommit:
            own.execute("begin")
        run_all(own, INSERTS[:2])
        assert marks() == 0
        own.rollback()

    assert marks() == 0


def refused(rows: list[Any]) -> None:
    raise InvalidTask(f"refused: {rows[0][0]}")


CHECKED = Statement(
    query="select 1 / 0", read=ignore_rows, check=Statement(query="select %s::text", params=("why",), read=refused)
)


async def test_check_runs_before_its_statement(ask: Ask) -> None:
    with pytest.raises(InvalidTask, match="refused: why"):
        await ask(CHECKED)


async def test_check_runs_before_a_statement_with_an_audit_entry(database: str) -> None:
    async with await connect_async(database, "test") as connection:
        with pytest.raises(InvalidTask, match="refused: why"):
            await run_and_async(connection, CHECKED, lambda _before, _answer: CHECKED)


async def test_unreachable_server_raises_database_unavailable() -> None:
    with pytest.raises(DatabaseUnavailable):
        connect(NOWHERE, "test")
    with pytest.raises(DatabaseUnavailable):
        await connect_async(NOWHERE, "test")


def test_default_timeouts_apply_unless_the_dsn_sets_them() -> None:
    dsn = with_defaults("postgresql://u@h/d?connect_timeout=30", "client")

    assert "connect_timeout=30" in dsn
    assert "tcp_user_timeout=8000" in dsn
    assert "application_name=rolecall:client" in dsn


def test_invalid_dsn_is_rejected_without_revealing_it() -> None:
    with pytest.raises(ConfigError) as refused:
        with_defaults("postgresql://user:secret@host:port/x y", "client")

    assert "secret" not in str(refused.value)
    assert "secret" not in str(refused.value.value)
