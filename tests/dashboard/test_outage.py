"""Pages during a database outage."""

from __future__ import annotations

import httpx2

from tests.dashboard.reading import read
from tests.outage import outage
from tests.sql.engine import Engine


async def test_page_during_a_database_outage_explains_it_and_reloads(pool: Engine, http: httpx2.AsyncClient) -> None:
    await http.get("/tasks")

    with outage(pool.database):
        answer = await http.get("/tasks")
    page = read(answer.text)

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert page.one("h1").text == "The database does not respond"
    assert "get a connection" not in page.text
    assert page.one("meta", **{"http-equiv": "refresh"})["content"] == "5"
    assert page.all("a", href="/api/doctor")
    assert (await http.get("/tasks")).status_code == 200


async def test_form_during_a_database_outage_is_not_resent_automatically(
    pool: Engine, http: httpx2.AsyncClient
) -> None:
    task = pool.enqueue("sums", handler="add", after=3_600)

    with outage(pool.database):
        answer = await http.post(f"/tasks/{task}/trigger", headers={"referer": "http://test/tasks?role=sums"})
    page = read(answer.text)

    assert answer.status_code == 503
    assert "Your change may or may not have been made" in page.text
    assert page.all("meta", **{"http-equiv": "refresh"}) == []
    assert page.all("a", href="/tasks?role=sums")
