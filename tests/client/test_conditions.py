"""A client raises the same error for a server condition with every library."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from rolecall import App, DatabaseReadOnly, DatabaseUnavailable
from tests.client.conftest import Face, Kind
from tests.client.doors import DOORS, Door, visiting
from tests.outage import read_only

FULL = """\
create function full_disk() returns trigger language plpgsql as $$
begin raise exception 'no space left' using errcode = '53100'; end $$;
create trigger full_disk before insert on rolecall.tasks execute function full_disk();
"""


@pytest.fixture(params=DOORS, ids=[kind.__name__ for kind in DOORS])
def door(request: pytest.FixtureRequest) -> type[Door]:
    return request.param  # type: ignore[no-any-return]  # one of the params above


async def test_read_only_transaction_of_the_caller_raises_database_read_only(
    door: type[Door], database: str, app: App, connection: psycopg.Connection[Any]
) -> None:
    async with visiting(door, database, app, database) as visitor:
        await visitor.door.execute("set transaction read only")
        with pytest.raises(DatabaseReadOnly, match="the database is read-only") as raised:
            await visitor("enqueue", "add", {"a": 1})
        await visitor.door.rollback()

    assert raised.value.sqlstate == "25006"


async def test_server_without_resources_is_unavailable(
    door: type[Door], database: str, app: App, connection: psycopg.Connection[Any]
) -> None:
    connection.execute(FULL)
    async with visiting(door, database, app, database) as visitor:
        with pytest.raises(DatabaseUnavailable, match="no space left") as raised:
            await visitor("enqueue", "add", {"a": 1})
        await visitor.door.rollback()

    assert raised.value.sqlstate == "53100"


async def test_client_raises_database_read_only_and_recovers_afterwards(
    kind: Kind, database: str, app: App, connection: psycopg.Connection[Any]
) -> None:
    face = Face(kind, database, app)
    with read_only(database), pytest.raises(DatabaseReadOnly, match="try again when it accepts writes"):
        await face("enqueue", "add", {"a": 1})

    assert (await face("enqueue", "add", {"a": 1})).id
    await face("close")
