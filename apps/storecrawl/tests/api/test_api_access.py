"""Access to every route of the crawler, checked against the table of permissions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rolecall import App
from rolecall.model.operator.access import Scope
from rolecall.web import build
from tests.web.doors import Door, opened
from tests.web.matrix import IDENTITIES, departures, passed_over, read_table, routes_of

# The API and the pages.
TABLES = (Path(__file__).with_name("routes.txt"), Path(__file__).parents[1] / "pages" / "routes.txt")
TABLE = [entry for table in TABLES for entry in read_table(table)]


@pytest.fixture
async def door(database: str, app: App) -> AsyncIterator[Door]:
    async with opened(database, app=app) as door:
        yield door


async def test_route_table_contains_exactly_the_existing_routes(door: Door) -> None:
    """A new route needs a line in routes.txt."""
    own = routes_of(build("postgresql://", App("bare")))

    assert routes_of(door.application) - own == {(entry.method, entry.path) for entry in TABLE}


@pytest.mark.parametrize("identity", list(IDENTITIES))
async def test_each_role_has_access_to_exactly_the_paths_in_the_table(door: Door, identity: str) -> None:
    headers = {} if identity == "nobody" else await door.key(Scope(identity))

    assert await departures(door.application, TABLE, identity, headers) == []


async def test_every_api_route_rejects_unknown_query_parameters(door: Door) -> None:
    assert await passed_over(door.application, await door.key(Scope.ADMIN)) == []
