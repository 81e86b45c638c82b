"""The audit log for programs that record their own changes."""

from __future__ import annotations

import psycopg
import pytest

from rolecall import Actor, audit
from rolecall.db.connect import connect, connect_async

ADA = Actor(name="ada", via="cli")


def rows(database: str) -> list[tuple[object, ...]]:
    with connect(database, "test") as connection:
        return connection.execute(
            "select actor, action, detail, outcome from rolecall.audit_log order by id"
        ).fetchall()


def test_program_can_record_its_own_changes(database: str) -> None:
    with connect(database, "test") as connection:
        audit.record(connection, ADA, "routes.add", {"route": 7}, "added")

    assert rows(database) == [("ada", "routes.add", {"route": 7}, "added")]


async def test_audit_entry_belongs_to_the_transaction_of_the_change(database: str) -> None:
    async with await connect_async(database, "test") as connection:
        async with audit.change_async(connection, ADA, "routes.add", route=7) as outcome:
            await connection.execute("insert into rolecall.roles (name) values ('new')")
            outcome["role"] = "new"
        with pytest.raises(psycopg.errors.UniqueViolation):
            async with audit.change_async(connection, ADA, "routes.add", route=8):
                await connection.execute("insert into rolecall.roles (name) values ('new')")

    assert rows(database) == [("ada", "routes.add", {"route": 7}, {"role": "new"})]
