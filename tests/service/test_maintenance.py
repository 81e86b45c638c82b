"""Rescue and retention by hand."""

from __future__ import annotations

import pytest

from rolecall.db.connect import connect_async
from rolecall.model.audit import Actor
from rolecall.model.errors import ConfigError
from rolecall.service.database import OneConnection
from rolecall.service.maintenance import Maintenance

DAY = 86_400.0


async def test_audit_log_retention_can_be_set_and_is_recorded(database: str) -> None:
    async with await connect_async(database, "test") as connection:
        await Maintenance(OneConnection(connection, Actor(name="ada", via="cli"))).keep_audit(30 * DAY)

        kept = await connection.execute(
            "select extract(epoch from keep)::float8 from rolecall.retention where kind = 'audit_log'"
        )
        assert await kept.fetchall() == [(30 * DAY,)]
        noted = await connection.execute("select actor, action, detail from rolecall.audit_log")
        assert await noted.fetchall() == [("ada", "maintenance.keep_audit", {"seconds": 30 * DAY})]


@pytest.mark.parametrize("seconds", [0.0, DAY - 1, 200 * 365.25 * DAY])
async def test_invalid_retention_is_rejected(database: str, seconds: float) -> None:
    async with await connect_async(database, "test") as connection:
        with pytest.raises(ConfigError, match="must be a day to a hundred years"):
            await Maintenance(OneConnection(connection, Actor(name="ada", via="cli"))).keep_audit(seconds)
