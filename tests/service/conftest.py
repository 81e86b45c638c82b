"""The services over a migrated database with one role and two handlers."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from rolecall.service.database import OneConnection
from rolecall.service.services import Services
from rolecall.sql import roles


@pytest.fixture
async def services(aconnection: psycopg.AsyncConnection[Any]) -> Services:
    database = OneConnection(aconnection)
    handlers = [{"name": name, "role": "sums"} for name in ("add", "stumble")]
    await database.run(roles.declare([{"name": "sums"}], handlers))
    return Services.over(database)
