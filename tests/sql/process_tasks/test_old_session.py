"""The psql commands of a user who has written handlers for a database queue before."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

PREPARED = """
create schema my_schema;
create table my_schema.done (id bigint);
create procedure my_schema.my_handler(payload jsonb) language plpgsql as $$
begin
    insert into my_schema.done values ((payload ->> 'id')::bigint);
end
$$;
select rolecall.declare_procedure('my_command', 'my_schema.my_handler', p_role => 'analytics');
create function my_schema.enqueue_my_command(p_id bigint) returns bigint language sql as $$
    select rolecall.enqueue(
        'analytics', jsonb_build_object('id', p_id), p_handler => 'my_command', p_dedupe_key => p_id::text
    )
$$;
"""


@pytest.fixture
def psql(connection: psycopg.Connection[Any]) -> psycopg.Connection[Any]:
    connection.execute(PREPARED)
    return connection


def states(psql: psycopg.Connection[Any]) -> list[Any]:
    return [row[0] for row in psql.execute("select state::text from rolecall.all_tasks order by id").fetchall()]


def done(psql: psycopg.Connection[Any]) -> list[Any]:
    return [row[0] for row in psql.execute("select id from my_schema.done order by id").fetchall()]


def test_command_is_enqueued_once_and_run(psql: psycopg.Connection[Any]) -> None:
    for number in (1, 2, 2):
        psql.execute("select my_schema.enqueue_my_command(%s)", (number,))

    psql.execute("call rolecall.process_tasks(p_queue => 'analytics', p_max_tasks => 10)")

    assert (states(psql), done(psql)) == (["completed", "completed"], [1, 2])


def test_transaction_can_enqueue_run_inspect_and_roll_back(psql: psycopg.Connection[Any]) -> None:
    psql.execute("begin")
    psql.execute("select my_schema.enqueue_my_command(7)")
    psql.execute("call rolecall.process_tasks('analytics')")
    seen = done(psql)
    psql.execute("rollback")

    assert (seen, done(psql), states(psql)) == ([7], [], [])


def test_queue_is_paused_and_resumed(psql: psycopg.Connection[Any]) -> None:
    psql.execute("select my_schema.enqueue_my_command(7)")

    psql.execute("select rolecall.pause_role('analytics', 60)")
    psql.execute("call rolecall.process_tasks('analytics')")
    paused = states(psql)
    psql.execute("select rolecall.resume_role('analytics')")
    psql.execute("call rolecall.process_tasks('analytics')")

    assert (paused, states(psql)) == (["pending"], ["completed"])
