"""Databases with settings and encodings that other programs chose."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.sql import SQL, Identifier, Literal

from rolecall import App, Client, Context, InvalidTask, WorkerOptions, immediate
from rolecall.db.connect import connect
from rolecall.db.migrations import ROLECALL
from rolecall.db.migrator import migrate
from rolecall.db.pools import pool
from rolecall.testing import TestServer, drain_sync

app = App("foreign")


@app.task(retry=immediate())
async def work(ctx: Context, text: str) -> str:
    if ctx.attempt == 1:
        raise ConnectionError(text)
    return text


app.schedule("nightly", work, every=3600, payload={"text": "nightly"})


ENCODING = "create database {} encoding {} template template0 locale_provider libc lc_collate 'C' lc_ctype 'C'"
SETTINGS = """
datestyle = SQL, DMY
datestyle = German
datestyle = Postgres, MDY
intervalstyle = iso_8601
intervalstyle = sql_standard
timezone = 'Australia/Lord_Howe'
timezone = 'Etc/GMT+12'
bytea_output = escape
client_encoding = LATIN1
client_encoding = SQL_ASCII
search_path = nowhere
search_path = hostile, public
extra_float_digits = -15
array_nulls = off
transform_null_equals = on
standard_conforming_strings = off
backslash_quote = off
quote_all_identifiers = on
xmloption = document
lc_messages = 'C'
lc_monetary = 'C'
lc_numeric = 'C'
lc_time = 'C'
default_transaction_isolation = 'serializable'
default_transaction_isolation = 'repeatable read'
default_transaction_deferrable = on
synchronous_commit = off
row_security = off
session_replication_role = replica
check_function_bodies = off
statement_timeout = '5s'
lock_timeout = '2s'
transaction_timeout = '5s'
idle_session_timeout = '1s'
idle_in_transaction_session_timeout = '1s'
client_min_messages = debug1
track_activities = off
track_functions = 'all'
plan_cache_mode = force_generic_plan
jit_above_cost = 0
work_mem = '64kB'
temp_buffers = '800kB'
default_statistics_target = 1
default_table_access_method = heap
constraint_exclusion = on
cursor_tuple_fraction = 0
from_collapse_limit = 1
join_collapse_limit = 1
geqo_threshold = 2
random_page_cost = 0
seq_page_cost = 100000
debug_parallel_query = on
enable_seqscan = off
enable_indexscan = off
enable_bitmapscan = off
enable_nestloop = off
enable_hashjoin = off
enable_mergejoin = off
enable_sort = off
enable_hashagg = off
enable_partition_pruning = off
enable_partitionwise_aggregate = on
""".strip().splitlines()
HOSTILE = """
create schema hostile;
create function hostile.now() returns timestamptz language sql as $$ select timestamptz '1999-01-01' $$;
create function hostile.equal(text, text) returns boolean language sql as $$ select false $$;
create operator hostile.= (leftarg = text, rightarg = text, function = hostile.equal)
"""
# One text can be stored in the encoding, the other cannot. SQL_ASCII stores any bytes.
ENCODINGS = [
    ("UTF8", "é🙂", None),
    ("SQL_ASCII", "é🙂", None),
    ("LATIN1", "é", "🙂"),
    ("LATIN2", "ł", "ß🙂"),
    ("LATIN9", "é€", "🙂"),
    ("ISO_8859_5", "ж", "é"),
    ("WIN1252", "é€", "ж"),
    ("WIN1251", "ж", "é"),
    ("KOI8R", "ж", "é"),
    ("EUC_JP", "日本", "🙂"),
    ("EUC_KR", "한국", "🙂"),
    ("EUC_CN", "中国", "🙂"),
]


@pytest.mark.parametrize("setting", SETTINGS)
def test_setting_of_the_database_does_not_affect_tasks(database: str, setting: str) -> None:
    """Of two tasks with the same key, each fails once. One is delayed, and there is a schedule."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(HOSTILE)
        connection.execute(f'alter database "{connection.info.dbname}" set {setting}'.encode())

    with Client(database, app=app) as client:
        now = client.enqueue(work.task(text="é").options(key="k"))
        later = client.enqueue(work.task(text="later").options(key="k", after=0.1))
        drain_sync(app, database, WorkerOptions(poll_interval=0.1))
        tasks = [client.get(now.id), client.get(later.id)]

    assert [(task.state, task.attempt, task.result) for task in tasks] == [
        ("completed", 2, "é"),
        ("completed", 2, "later"),
    ]
    assert all(task.created_at.tzinfo for task in tasks)
    with psycopg.connect(database) as connection:
        assert connection.execute("select name::bytea from rolecall.schedules").fetchall() == [(b"nightly",)]


@pytest.mark.parametrize(("encoding", "known", "unknown"), ENCODINGS)
def test_database_with_another_encoding_stores_tasks(
    postgres_server: TestServer, encoding: str, known: str, unknown: str | None
) -> None:
    name = f"encoded_{encoding.lower()}"
    with psycopg.connect(postgres_server.dsn("postgres"), autocommit=True) as connection:
        connection.execute(SQL(ENCODING).format(Identifier(name), Literal(encoding)))
    try:
        with connect(postgres_server.dsn(name), "test") as connection:
            migrate(connection, ROLECALL)
            migrate(connection, ROLECALL)
        with Client(postgres_server.dsn(name), app=app) as client:
            assert client.get(client.enqueue(work, text=known).id).payload == {"text": known}
            if unknown is not None:
                with pytest.raises(InvalidTask, match="encoding"):
                    client.enqueue(work, text=unknown)
    finally:
        postgres_server.drop(name)


def test_pool_replaces_a_dead_connection(database: str) -> None:
    lender = pool(database, "test", max_size=1)
    lender.open()
    try:
        with lender.connection() as connection:
            dead = connection.info.backend_pid
        with psycopg.connect(database, autocommit=True) as other:
            other.execute("select pg_terminate_backend(%s, 5000)", (dead,))

        with lender.connection() as connection:
            assert connection.execute("select pg_backend_pid()").fetchone() != (dead,)
    finally:
        lender.close()
