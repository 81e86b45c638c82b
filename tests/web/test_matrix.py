"""Access to every route, checked against the table of permissions."""

from __future__ import annotations

from pathlib import Path

import pytest

from rolecall.model.access import Scope
from rolecall.model.audit import AuditFilter
from tests.web.doors import Door
from tests.web.matrix import IDENTITIES, departures, other_methods, read_table, routes_of

# The API and the pages; the crawler's stand beside its tests.
TABLES = (Path(__file__).with_name("routes.txt"), Path(__file__).parents[1] / "dashboard" / "routes.txt")
TABLE = [entry for table in TABLES for entry in read_table(table)]
WITHOUT_FILTER = AuditFilter()


async def test_every_route_stands_in_the_table_and_no_other(door: Door) -> None:
    """A new route needs a line in routes.txt."""
    assert routes_of(door.application) == {(entry.method, entry.path) for entry in TABLE}


def test_no_route_stands_there_twice() -> None:
    entries = [(entry.method, entry.path) for entry in TABLE]

    assert len(entries) == len(set(entries))


@pytest.mark.parametrize("identity", list(IDENTITIES))
async def test_everybody_gets_where_the_table_says_and_no_further(door: Door, identity: str) -> None:
    headers = {} if identity == "nobody" else await door.key(Scope(identity))

    assert await departures(door.application, TABLE, identity, headers) == []


async def test_a_method_that_a_path_does_not_have_does_nothing(door: Door) -> None:
    assert await other_methods(door.application, TABLE) == []


async def test_reading_never_changes_anything(door: Door) -> None:
    admin = await door.key(Scope.ADMIN)
    before = await door.services.audit.list(WITHOUT_FILTER)

    await departures(door.application, [e for e in TABLE if e.method == "GET"], "admin", admin)

    assert await door.services.audit.list(WITHOUT_FILTER) == before
