"""Destructive actions require confirmation on the server, whatever the browser does."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from tests.dashboard.reading import read, send, shown
from tests.dashboard.scenery import Scenery, furnish
from tests.dashboard.test_sites import STATE
from tests.sql.engine import Engine
from tests.web.matrix import read_table

CHANGES = [entry.path for entry in read_table(Path(__file__).with_name("routes.txt")) if entry.method == "POST"]
# Actions that can be undone, forms that ask for text themselves, and actions that their page has already confirmed.
AT_ONCE = {
    "/changes/bulk/{bulk_action_id:int}/stop",
    "/errors/{group_id:int}/{verb}",
    "/jobs/{handler}",
    "/login",
    "/keys/resume",
    "/keys/set",
    "/logout",
    "/password",
    "/roles/{name}/pause",
    "/roles/{name}/resume",
    "/schedules/new",
    "/schedules/{schedule_id:int}/disable",
    "/schedules/{schedule_id:int}/edit",
    "/schedules/{schedule_id:int}/enable",
    "/schedules/{schedule_id:int}/trigger",
    "/tasks/bulk",
    "/tasks/recover-stale",
    "/tasks/{task_id:int}/complete",
    "/tasks/{task_id:int}/fail",
    "/tasks/{task_id:int}/retry",
    "/tasks/{task_id:int}/stack",
    "/tasks/{task_id:int}/token",
    "/tasks/{task_id:int}/trigger",
    "/views",
    "/views/{view_id:int}/change",
    "/admin/workers/{worker_id:int}/resume",
}
# Needs a cluster: see test_replicas.py.
ELSEWHERE = {"/admin/workers/replicas"}
ASK = sorted(set(CHANGES) - AT_ONCE - ELSEWHERE)


@pytest.fixture
def scenery(pool: Engine) -> Scenery:
    return furnish(pool)


@pytest.mark.parametrize("path", ASK)
async def test_unconfirmed_form_changes_nothing_and_asks_for_confirmation(
    pool: Engine, scenery: Scenery, http: httpx2.AsyncClient, path: str
) -> None:
    before = pool.value(STATE)

    answer = await http.post(scenery.path(path), data={"action": "delete", "id": str(scenery.task_id), "pattern": "a*"})

    form = read(answer.text).one("form", id="question")
    assert answer.status_code == 200
    assert form.one("input", name="confirmed")["value"] == "true"
    assert pool.value(STATE) == before


async def test_confirmation_question_names_the_affected_objects(pool: Engine, http: httpx2.AsyncClient) -> None:
    pool.enqueue("sums", handler="add")
    parent = pool.claim_one()
    pool.spawn(parent.id, *[{"role": "sums", "handler": "add"}] * 7)

    cancelled = (await http.post(f"/tasks/{parent.id}/cancel")).text
    deleted = (await http.post(f"/tasks/{parent.id}/delete")).text
    selected = (await http.post("/tasks/selected", data={"action": "delete", "id": str(parent.id)})).text

    assert f"Cancel task {parent.id}, with 7 open children and everything open below?" in cancelled
    assert f"Delete task {parent.id} permanently, with 7 children and everything below?" in deleted
    assert "1 of them has children." in selected


async def test_fields_of_the_first_form_are_resubmitted_with_the_confirmation(
    pool: Engine, http: httpx2.AsyncClient
) -> None:
    ids, _ = pool.enqueue_many([{"role": "sums", "handler": "add"}] * 12)

    await send(http, "/tasks/selected", action="cancel", id=ids[:11])

    assert pool.states() == {**dict.fromkeys(ids[:11], "cancelled"), ids[11]: "pending"}


async def test_confirmation_redirects_to_the_page_of_the_first_form(pool: Engine, http: httpx2.AsyncClient) -> None:
    task = pool.enqueue("sums", handler="add")
    at = "/tasks?role=sums&state=pending"

    question = read((await http.post(f"/tasks/{task}/cancel", headers={"referer": f"http://test{at}"})).text)
    done = await send(http, f"/tasks/{task}/cancel", at=at)
    refused = await send(http, f"/tasks/{task}/cancel", at=at)

    assert question.one("form", id="question").one("a", class_="button")["href"] == at
    assert [answer.headers["location"] for answer in (done, refused)] == [at, at]
    assert (await shown(http, at)).one("p", class_="notice").has(class_="bad")


@pytest.mark.parametrize("elsewhere", ["//elsewhere.example/", "https://elsewhere.example/", "/\\elsewhere.example/"])
async def test_confirmation_never_redirects_to_another_site(
    pool: Engine, http: httpx2.AsyncClient, elsewhere: str
) -> None:
    task = pool.enqueue("sums", handler="add")

    done = await http.post(f"/tasks/{task}/cancel", params={"back": elsewhere}, data={"confirmed": "true"})

    assert done.headers["location"] == "/"
