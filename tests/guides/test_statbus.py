"""The guide for users of the STATBUS worker works as described."""

from __future__ import annotations

from typing import Any

import psycopg

from tests.guides.blocks import blocks
from tests.guides.reading import rows_of_table

GUIDE = "statbus.md"


def test_merged_command_runs_inside_a_transaction(connection: psycopg.Connection[Any]) -> None:
    setup, trial = blocks(GUIDE, "sql")
    connection.execute(setup.encode())

    with connection.transaction(force_rollback=True):
        cursor = connection.execute(trial.replace("begin;", "").replace("rollback;", "").strip().encode())
        while cursor.nextset():
            pass
        [(role, handler, state, ids, info)] = cursor.fetchall()

    assert rows_of_table(blocks(GUIDE, "text")[0]) == [(role, handler, state, str(ids), str(info).replace("'", '"'))]
