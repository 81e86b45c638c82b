"""Rejected requests are in the audit log and cannot flood it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from rolecall.model.audit import Actor, AuditEvent, AuditFilter, StoredAuditEvent
from rolecall.model.errors import DatabaseUnavailable
from rolecall.model.operator.access import Scope
from rolecall.web.http.refusals import Refusals
from tests.web.doors import PASSWORD, Door, opened

LONG = 30.0
WRONG = {"authorization": "Bearer rk_" + "x" * 43}
NOBODY = Actor(name="nobody", via="api", origin="192.0.2.1")


@pytest.fixture
async def door(database: str) -> AsyncIterator[Door]:
    async with opened(database, logins_per_minute=1_000) as door:
        yield door


async def written(door: Door, action: str) -> StoredAuditEvent:
    """Wait for the first entry about a request."""
    async with asyncio.timeout(LONG):
        while not (found := await door.services.audit.list(AuditFilter(action=action))):
            await asyncio.sleep(0.01)
    return found[-1]


async def test_failed_login_is_recorded_with_the_name_of_an_existing_person(door: Door) -> None:
    await door.person()
    await door.log_in(password="wrong")

    event = await written(door, "sessions.refused")

    assert (event.actor, event.origin, event.detail) == ("nobody", "127.0.0.1", {"name": "ada"})
    assert event.outcome["number"] == 1


async def test_failed_login_with_an_unknown_name_is_recorded_without_it(door: Door) -> None:
    await door.log_in(PASSWORD, "wrong")

    assert (await written(door, "sessions.refused")).detail == {}


async def test_lockout_is_recorded(door: Door) -> None:
    await door.person()
    for _ in range(10):
        await door.log_in(password="wrong")
    door.application.state.rolecall.refusals.stop()

    assert (await written(door, "sessions.locked")).detail == {"name": "ada"}


async def test_rate_limited_logins_are_recorded_as_such(database: str) -> None:
    async with opened(database, logins_per_minute=1) as door:
        statuses = [(await door.log_in()).status_code for _ in range(4)]
        door.application.state.rolecall.refusals.stop()
        async with asyncio.timeout(LONG):
            while len(found := await door.services.audit.list(AuditFilter(action="sessions.refused"))) < 2:
                await asyncio.sleep(0.01)

    assert set(statuses) == {401, 429}
    assert {"why": "too often"} in [event.detail for event in found]


async def test_rejected_key_is_recorded(door: Door) -> None:
    await door.client.get("/api/me", headers=WRONG)

    event = await written(door, "keys.refused")

    assert (event.actor, event.origin) == ("nobody", "127.0.0.1")
    assert "xxx" not in str(event)


async def test_rejected_scope_is_recorded_with_the_caller_and_the_request(door: Door) -> None:
    reader = await door.key(Scope.READ)
    await door.client.get("/api/keys/7", headers=reader)

    event = await written(door, "scopes.refused")

    assert event.actor.startswith("read (API key ")
    assert event.detail == {"requested": "GET /api/keys/{key_id:int}", "needs": "admin", "has": "read"}


async def test_many_guesses_are_recorded_in_a_few_rows_with_their_number(door: Door) -> None:
    first = await door.client.get("/api/me", headers=WRONG)
    await written(door, "keys.refused")
    for _ in range(200):
        await door.client.get("/api/me", headers=WRONG)
    door.application.state.rolecall.refusals.stop()
    async with asyncio.timeout(LONG):
        while len(rows := await door.services.audit.list(AuditFilter(action="keys.refused"))) < 2:
            await asyncio.sleep(0.01)

    assert first.status_code == 401
    assert [row.outcome["number"] for row in rows] == [200, 1]


class Log:
    """An audit log that may be unavailable."""

    def __init__(self) -> None:
        self.rows: list[tuple[str | None, dict[str, Any]]] = []
        self.is_away = False

    async def write(self, actor: Actor, event: AuditEvent, outcome: Mapping[str, object]) -> None:
        if self.is_away:
            raise DatabaseUnavailable("it is away")
        self.rows.append((actor.origin, {**event.detail, "number": outcome["number"]}))


async def test_guesses_from_many_addresses_are_also_recorded_in_a_few_rows() -> None:
    log = Log()
    refusals = Refusals(log.write)
    for number in range(500):
        refusals.note(Actor(name="nobody", via="api", origin=str(number % 100)), "keys.refused", {})
    refusals.stop()
    await refusals.run()

    assert len(log.rows) == 21
    assert sum(row["number"] for _, row in log.rows) == 500
    assert log.rows[-1] == (None, {"who": "others", "number": 400})


async def test_rejection_that_cannot_be_recorded_does_not_stop_the_writer(caplog: pytest.LogCaptureFixture) -> None:
    log = Log()
    refusals = Refusals(log.write, quiet=0.01)
    running = asyncio.create_task(refusals.run())
    log.is_away = True
    refusals.note(NOBODY, "keys.refused", {})
    async with asyncio.timeout(LONG):
        while not caplog.records:
            await asyncio.sleep(0.01)
        log.is_away = False
        refusals.note(NOBODY, "sessions.refused", {})
        while not log.rows:
            await asyncio.sleep(0.01)
    refusals.stop()
    await running

    assert "1 times keys.refused could not be recorded" in caplog.text
    assert log.rows == [("192.0.2.1", {"number": 1})]
