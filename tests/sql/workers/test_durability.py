"""A worker's registration survives a server crash, although its session does not wait for the disk."""

from __future__ import annotations

import pytest

from tests.sql.engine import Engine


@pytest.mark.parametrize(
    "statement",
    [
        "select rolecall.tell_intakes(%s, '{new}')",
        "select rolecall.tell_process(%s, 'machine/1', 7, null)",
        "select rolecall.declare_release(%s, 'shop', 'r1', '{}')",
        "select rolecall.serve(%s, '{work}')",
    ],
)
def test_registration_is_durable_in_a_session_that_relaxes_commits(engine: Engine, statement: str) -> None:
    worker = engine.worker()
    with engine.connection.transaction():
        engine.rows("set local synchronous_commit = off")
        engine.rows(statement, worker)

        assert engine.value("show synchronous_commit") == "on"
