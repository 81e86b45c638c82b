"""People change their own passwords over HTTP."""

from __future__ import annotations

import httpx2
import pytest

from rolecall.model.audit import AuditFilter
from rolecall.model.operator.access import Scope
from tests.web.doors import PASSWORD, SITE, Door

NEW = "a new and longer password"


async def change(door: Door, current: str = PASSWORD, new: str = NEW, **headers: str) -> httpx2.Response:
    body = {"current": current, "new": new}
    return await door.client.post("/api/password", json=body, headers={"origin": SITE, **headers})


async def test_person_with_any_scope_changes_their_own_password(door: Door) -> None:
    await door.person(scope=Scope.OWN)
    await door.log_in()

    assert (await change(door)).status_code == 204

    assert (await door.log_in(password=PASSWORD)).status_code == 401
    assert (await door.log_in(password=NEW)).status_code == 204


async def test_new_password_ends_all_sessions_except_a_new_one(door: Door) -> None:
    await door.person()
    await door.log_in()
    old = door.client.cookies["rolecall"]

    await change(door)

    assert (await door.client.get("/api/me")).status_code == 200
    assert (await door.client.get("/api/me", headers={"cookie": f"rolecall={old}"})).status_code == 401


async def test_change_is_recorded_with_the_person(door: Door) -> None:
    await door.person()
    await door.log_in()

    await change(door)

    [event] = await door.services.audit.list(AuditFilter(action="people.password"))
    assert (event.actor, event.detail) == ("ada", {"name": "ada"})


async def test_wrong_current_passwords_lock_the_person_out(door: Door) -> None:
    await door.person()
    await door.log_in()

    codes = [(await change(door, current="a wrong password")).status_code for _ in range(11)]

    assert codes == [401] * 10 + [429]


@pytest.mark.parametrize("new", ["too short", "x" * 1_001])
async def test_unsuitable_new_password_is_rejected(door: Door, new: str) -> None:
    await door.person()
    await door.log_in()

    assert (await change(door, new=new)).status_code == 422
    assert (await door.log_in()).status_code == 204


async def test_api_key_cannot_change_a_password(door: Door) -> None:
    await door.person()

    assert (await change(door, **await door.key(Scope.ADMIN))).status_code == 403
