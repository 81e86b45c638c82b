"""Sessions are listed and ended: all by admins, their own by other users."""

from __future__ import annotations

import httpx2
import pytest

from rolecall.model.audit import AuditFilter
from rolecall.model.operator.access import Scope
from tests.web.doors import PASSWORD, SITE, Door


async def log_in(door: Door, name: str, scope: Scope) -> dict[str, str]:
    """Add a person and log in; returns the headers of a browser with that session."""
    await door.person(name, scope)
    answer = await door.client.post("/api/login", json={"name": name, "password": PASSWORD})
    door.client.cookies.clear()
    return {"cookie": answer.headers["set-cookie"].partition(";")[0], "origin": SITE}


async def listed(door: Door, headers: dict[str, str]) -> dict[str, str]:
    """Return the ids of the visible sessions, by person."""
    answer = await door.client.get("/api/sessions", headers=headers)
    return {each["person"]: each["id"] for each in answer.json()["items"]}


async def end(door: Door, session_id: str, headers: dict[str, str]) -> httpx2.Response:
    return await door.client.delete(f"/api/sessions/{session_id}", headers=headers)


@pytest.mark.parametrize("scope", [Scope.OWN, Scope.READ, Scope.OPERATE])
async def test_person_sees_and_ends_only_their_own_sessions(door: Door, scope: Scope) -> None:
    ada, bob = await log_in(door, "ada", scope), await log_in(door, "bob", scope)
    hers, his = await listed(door, ada), await listed(door, bob)

    others, own = await end(door, hers["ada"], bob), await end(door, his["bob"], bob)

    assert (list(hers), list(his)) == (["ada"], ["bob"])
    assert (others.status_code, own.status_code) == (404, 204)
    assert (await door.client.get("/api/me", headers=bob)).status_code == 401
    assert (await door.client.get("/api/me", headers=ada)).status_code == 200


async def test_admin_sees_and_ends_the_sessions_of_everybody(door: Door) -> None:
    ada = await log_in(door, "ada", Scope.READ)
    root = await door.key(Scope.ADMIN)
    found = await listed(door, root)

    answers = [(await end(door, found["ada"], root)).status_code for _ in range(2)]

    assert answers == [204, 404]
    assert (await door.client.get("/api/me", headers=ada)).status_code == 401
    events = await door.services.audit.list(AuditFilter(action="sessions.end"))
    assert [event.detail for event in events] == [{"id": found["ada"]}] * 2


async def test_list_of_sessions_shows_no_secret(door: Door) -> None:
    ada = await log_in(door, "ada", Scope.READ)

    answer = await door.client.get("/api/sessions", headers=ada)

    (session,) = answer.json()["items"]
    assert set(session) == {"id", "person", "scope", "origin", "created_at", "last_used_at", "expires_at"}
    assert ada["cookie"].partition("=")[2] not in answer.text


async def test_key_without_a_person_has_no_sessions(door: Door) -> None:
    await log_in(door, "ada", Scope.READ)

    assert await listed(door, await door.key(Scope.OPERATE)) == {}


async def test_page_lists_sessions_and_ends_one_after_confirmation(door: Door) -> None:
    ada = await log_in(door, "ada", Scope.READ)
    session_id = (await listed(door, ada))["ada"]

    page = await door.client.get("/sessions", headers=ada)
    question = await door.client.post(f"/sessions/{session_id}/end", headers=ada)
    still = (await door.client.get("/api/me", headers=ada)).status_code
    done = await door.client.post(f"/sessions/{session_id}/end", data={"confirmed": "true"}, headers=ada)

    assert f"/sessions/{session_id}/end" in page.text
    assert ("End this session?" in question.text, still) == (True, 200)
    assert (done.status_code, done.headers["location"]) == (303, "/sessions")
    assert (await door.client.get("/api/me", headers=ada)).status_code == 401
