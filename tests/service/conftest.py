"""The services of a migrated database with one role and two handlers."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from rolecall.model.audit import Actor
from rolecall.service.database import OneConnection
from rolecall.service.services import Services
from rolecall.sql import roles
from rolecall.testing import Clock
from tests.sql.engine import START, Engine


@pytest.fixture
async def services(aconnection: psycopg.AsyncConnection[Any]) -> Services:
    database = OneConnection(aconnection, Actor(name="ada", via="cli"))
    handlers = [{"name": name, "role": "sums"} for name in ("add", "stumble")]
    await database.run(roles.declare([{"name": "sums"}], handlers))
    return Services(database)


@pytest.fixture
async def pool(
    connection: psycopg.Connection[Any],
    aconnection: psycopg.AsyncConnection[Any],
    clock: Clock,
    database: str,
) -> Engine:
    """The engine of the services, with a second role and its clock at START."""
    clock.set(START)
    await clock.show(aconnection)
    pool = Engine(connection, clock, database)
    pool.declare({"name": "sums"}, {"name": "other"})
    return pool
