"""The guide to statistics in SQL works as described."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.guides.blocks import blocks
from tests.guides.reading import rows_of_table

GUIDE = "statistics-in-sql.md"
Connection = psycopg.Connection[Any]


@pytest.fixture
def pipeline(connection: Connection) -> Connection:
    """A session of a database that has what the guide sets up, all but its last block."""
    *setup, _ = blocks(GUIDE, "sql")
    for block in setup:
        connection.execute(block.encode())
    return connection


def rows(connection: Connection, query: str) -> list[tuple[Any, ...]]:
    return connection.execute(query.encode()).fetchall()


def test_whole_guide_runs_inside_a_transaction_and_leaves_no_trace(connection: Connection) -> None:
    *setup, trial = blocks(GUIDE, "sql")
    statements = trial.replace("begin;", "").replace("rollback;", "").strip()

    with connection.transaction(force_rollback=True):
        for block in setup:
            connection.execute(block.encode())
        cursor = connection.execute(statements.encode())
        while cursor.nextset():
            pass
        found = [tuple(map(str, row)) for row in cursor.fetchall()]
        tasks = rows(
            connection, "select handler, state::text, count(*) from rolecall.all_tasks group by 1, 2 order by 1"
        )

    assert found == rows_of_table(blocks(GUIDE, "text")[0])
    assert tasks == [
        ("collect_changes", "completed", 2),
        ("count_store", "completed", 4),
        ("count_stores", "completed", 2),
        ("merge_counts", "completed", 2),
    ]
    assert rows(connection, "select * from rolecall.all_tasks") == []
    assert rows(connection, "select to_regnamespace('stats')") == [(None,)]


def test_trial_runs_unmodified(pipeline: Connection) -> None:
    """As in psql, with its own begin and rollback."""
    pipeline.execute(blocks(GUIDE, "sql")[-1].encode())

    assert rows(pipeline, "select * from rolecall.all_tasks") == []


def test_many_changes_form_one_round(pipeline: Connection) -> None:
    """The log is taken whole; a change while a round runs makes the next one."""
    for price in range(5):
        pipeline.execute("insert into shop.products (store, category, price) values (1, 'tea', %s)", (price,))

    pipeline.execute("call rolecall.process_tasks()")

    assert rows(pipeline, "select count(*) from rolecall.all_tasks where handler = 'collect_changes'") == [(1,)]
    assert rows(pipeline, "select products::int from stats.by_category") == [(5,)]


def test_change_while_a_round_waits_for_its_children_starts_the_next_round(pipeline: Connection) -> None:
    """One round at a time, the second after the first."""
    pipeline.execute("insert into shop.products (store, category, price) values (1, 'tea', 4)")
    pipeline.execute("call rolecall.process_tasks(p_max_tasks => 2)")
    pipeline.execute("insert into shop.products (store, category, price) values (2, 'tea', 6)")

    pipeline.execute("call rolecall.process_tasks()")

    handlers = [name for (name,) in rows(pipeline, "select handler from rolecall.all_tasks order by started_at")]
    assert handlers == ["collect_changes", "count_stores", "count_store", "merge_counts"] * 2
    assert rows(pipeline, "select products::int, average_price::int from stats.by_category") == [(2, 5)]


def test_full_round_corrects_unlogged_changes(pipeline: Connection) -> None:
    """A lost change log is no lost statistics."""
    pipeline.execute("insert into shop.products (store, category, price) values (1, 'tea', 4), (2, 'tea', 6)")
    pipeline.execute("truncate stats.changed")

    pipeline.execute("select rolecall.enqueue('statistics', '{\"everything\": true}', 'collect_changes')")
    pipeline.execute("call rolecall.process_tasks()")

    assert rows(pipeline, "select products::int from stats.by_category") == [(2,)]


def test_round_is_announced_at_its_start_and_at_its_end(pipeline: Connection, database: str) -> None:
    with psycopg.connect(database, autocommit=True) as listener:
        listener.execute("listen statistics")
        pipeline.execute("insert into shop.products (store, category, price) values (1, 'tea', 4)")
        pipeline.execute("call rolecall.process_tasks()")
        result = [int(notice.payload) for notice in listener.notifies(timeout=40, stop_after=2)]

    assert result == [rows(pipeline, "select min(id) from rolecall.all_tasks")[0][0]] * 2


def test_progress_infos_of_a_round_are_summed(pipeline: Connection) -> None:
    pipeline.execute(
        "insert into shop.products (store, category, price) values (1, 'tea', 4), (1, 'tea', 6), (2, 'tea', 5)"
    )

    pipeline.execute("call rolecall.process_tasks()")

    assert rows(pipeline, "select info from rolecall.all_tasks order by id limit 1") == [({"stores": 2, "counted": 3},)]
