"""pg_dump restores a pool with its tasks and constraints."""

from __future__ import annotations

import psycopg
import pytest

from rolecall.testing import TestServer, clone
from tests.db.shop import Connection
from tools.schema import dump

TASKS = "select id, state::text, attempt, payload from rolecall.tasks"


def test_restored_database_keeps_its_tasks_and_constraints(
    connection: Connection, database: str, postgres_server: TestServer
) -> None:
    """The check constraint of the table calls a function with a row of it: each must be restored before the other."""
    connection.execute(
        """with declared as materialized (select rolecall.declare('[]', '[{"name": "h", "role": "work"}]'))
        select rolecall.enqueue_many('[{"handler": "h"}, {"handler": "h", "payload": {"a": 1}}]') from declared"""
    )
    connection.execute("select rolecall.claim(1, '{}', '{h}', 1)")
    script = dump(database, "--inserts")

    with clone(postgres_server, "template1") as dsn, psycopg.connect(dsn, autocommit=True) as restored:
        with psycopg.ClientCursor(restored) as cursor:
            cursor.execute(f"set check_function_bodies = off;\n{script}".encode())

        assert restored.execute(TASKS).fetchall() == connection.execute(TASKS).fetchall()
        with pytest.raises(psycopg.errors.CheckViolation) as refusal:
            restored.execute("update rolecall.tasks set state = 'waiting' where state = 'pending'")
        assert refusal.value.diag.constraint_name == "waiting_only_for_children"
