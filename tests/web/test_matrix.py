"""Access to every route, checked against the table of permissions."""

from __future__ import annotations

from pathlib import Path

import pytest

from rolecall.model.audit import AuditFilter
from rolecall.model.operator.access import Scope
from tests.web.doors import Door
from tests.web.matrix import IDENTITIES, departures, other_methods, read_table, routes_of

# The API and the pages. The crawler's table is among its own tests.
TABLES = (Path(__file__).with_name("routes.txt"), Path(__file__).parents[1] / "dashboard" / "routes.txt")
TABLE = [entry for table in TABLES for entry in read_table(table)]
WITHOUT_FILTER = AuditFilter()


async def test_route_table_contains_exactly_the_existing_routes(door: Door) -> None:
    """A new route needs a line in routes.txt."""
    assert routes_of(door.application) == {(entry.method, entry.path) for entry in TABLE}


def test_route_table_contains_no_duplicates() -> None:
    entries = [(entry.method, entry.path) for entry in TABLE]

    assert len(entries) == len(set(entries))


@pytest.mark.parametrize("identity", list(IDENTITIES))
async def test_each_identity_has_exactly_the_access_in_the_route_table(door: Door, identity: str) -> None:
    headers = {} if identity == "nobody" else await door.key(Scope(identity))

    assert await departures(door.application, TABLE, identity, headers) == []


async def test_unsupported_method_is_rejected_on_every_path(door: Door) -> None:
    assert await other_methods(door.application, TABLE) == []


async def test_read_requests_change_nothing(door: Door) -> None:
    admin = await door.key(Scope.ADMIN)
    before = await door.services.audit.list(WITHOUT_FILTER)

    await departures(door.application, [e for e in TABLE if e.method == "GET"], "admin", admin)

    assert await door.services.audit.list(WITHOUT_FILTER) == before
