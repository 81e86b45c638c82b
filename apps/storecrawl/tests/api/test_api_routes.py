"""Outgoing routes over HTTP and on their page."""

from __future__ import annotations

from typing import Any

import httpx2
import psycopg
import pytest

CANARY = "CANARY-19c4"
YES = {"confirmed": "true"}
PROXY = {"protocol": "socks5", "host": "10.0.0.1", "port": 1080, "username": "me", "password": CANARY, "state": "AZ"}


async def test_route_can_be_added_shown_disabled_enabled_and_removed(http: httpx2.AsyncClient) -> None:
    added = (await http.post("/api/routes", json=PROXY)).json()
    address = f"/api/routes/{added['id']}"

    assert (await http.get("/api/routes")).json() == [added] == [(await http.get(address)).json()]
    assert (added["active"], added["has_password"], added["state"]) == (True, True, "AZ")
    disabled = (await http.post(f"{address}/disable", json={"reason": "too slow"})).json()
    assert (disabled["active"], disabled["disabled_because"]) == (False, "too slow")
    assert (await http.post(f"{address}/enable")).json()["active"]
    assert (await http.delete(address)).status_code == 204
    assert (await http.get(address)).status_code == 404


async def test_password_can_be_written_and_never_read(
    http: httpx2.AsyncClient, connection: psycopg.Connection[Any]
) -> None:
    added = await http.post("/api/routes", json=PROXY)
    again = await http.post("/api/routes", json=PROXY)
    wrong = await http.post("/api/routes", json=PROXY | {"password_env": "X"})
    worse = await http.post("/api/routes", json=PROXY | {"port": CANARY})
    shown = [await http.get(path) for path in ("/api/routes", "/routes", "/audit", "/api/audit")]

    assert connection.execute("select password from storecrawl.routes").fetchall() == [(CANARY,)]
    assert [answer.status_code for answer in (added, again, wrong)] == [201, 409, 422]
    assert [answer.url for answer in (added, again, wrong, *shown) if CANARY in answer.text] == []
    assert "password" not in worse.text or CANARY not in worse.json().get("detail", "")


async def test_actor_of_a_route_change_is_recorded_in_the_audit_log(
    http: httpx2.AsyncClient, connection: psycopg.Connection[Any]
) -> None:
    route = (await http.post("/api/routes", json={"protocol": "direct"})).json()["id"]
    await http.post(f"/routes/{route}/disable", data=YES)

    events = connection.execute(
        "select action, via, outcome ->> 'route' from rolecall.audit_log order by id desc limit 2"
    )
    assert events.fetchall() == [("routes.disable", "dashboard", "direct"), ("routes.add", "api", "direct")]


@pytest.mark.parametrize(
    "change",
    [{"protocol": "ftp"}, {"host": None}, {"port": 0}, {"host": "a/b"}, {"timezone": "Mars"}, {"protocol": "direct"}],
)
async def test_invalid_route_is_rejected(http: httpx2.AsyncClient, change: dict[str, object]) -> None:
    assert (await http.post("/api/routes", json=PROXY | change)).status_code == 422


async def test_page_shows_state_figures_and_reason_and_has_a_switch(
    http: httpx2.AsyncClient, connection: psycopg.Connection[Any]
) -> None:
    assert "There is no route yet" in (await http.get("/routes")).text
    route = (await http.post("/api/routes", json=PROXY | {"city": "<b>Mesa</b>"})).json()["id"]
    connection.execute("update storecrawl.routes set successes = 123, last_error = 'HTTP 403', last_error_at = now()")

    page = (await http.get("/routes")).text
    await http.post(f"/routes/{route}/disable", data=YES, headers={"referer": "http://test/routes"})
    disabled = (await http.get("/routes")).text

    for text in ("socks5://10.0.0.1:1080", "&lt;b&gt;Mesa", ">123<", "HTTP 403", f"/routes/{route}/disable"):
        assert text in page
    assert "disabled by" in disabled
    assert f"/routes/{route}/enable" in disabled
