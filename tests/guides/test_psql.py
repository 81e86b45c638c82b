"""The guide's worker in SQL works as described."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.guides.blocks import blocks

Connection = psycopg.Connection[Any]
DECLARED = """\
select rolecall.declare('[{"name": "mails", "retry": {"kind": "none"}}]', '[{"name": "send_mail", "role": "mails"}]');
select rolecall.enqueue('mails', '{}', p_handler => 'send_mail') from generate_series(1, 2);
"""
STATES = "select id, state::text, error from rolecall.all_tasks order by id"


@pytest.fixture
def steps(connection: Connection) -> list[str]:
    """Store two tasks; return the statements of the guide's worker."""
    connection.execute(DECLARED.encode())
    [worker] = [block for block in blocks("psql.md", "sql") if "register_worker" in block]
    return worker.strip().removesuffix(";").split(";\n")


def run(connection: Connection, steps: list[str]) -> list[tuple[Any, ...]]:
    return [connection.execute(step.encode()).fetchall() for step in steps][-1]


def test_worker_of_the_guide_finishes_its_tasks(connection: Connection, steps: list[str]) -> None:
    assert run(connection, steps) == []
    assert connection.execute(STATES.encode()).fetchall() == [
        (1, "completed", None),
        (2, "failed", "the address does not exist"),
    ]


def test_outcome_that_must_wait_is_busy_and_others_are_stored(
    connection: Connection, database: str, steps: list[str]
) -> None:
    *claim, report = steps
    run(connection, claim)
    with psycopg.connect(database) as other:
        other.execute("select from rolecall.tasks where id = 1 for update")
        assert run(connection, [report]) == [(1, "busy")]

    assert run(connection, [report]) == [(2, "already")]
