"""Saved views in the dashboard, and the suggestions of the search field and the palette."""

from __future__ import annotations

from typing import Any

import httpx2

from rolecall.model.operator.access import Scope
from rolecall.model.operator.task_query import NAMES
from rolecall.web.dashboard.presenters.suggestions import CONDITIONS
from tests.dashboard.reading import read, send, shown
from tests.sql.engine import Engine
from tests.web.doors import Door


async def suggested(http: httpx2.AsyncClient, where: str, text: str) -> list[tuple[str, str]]:
    """Return the texts of the suggestions, with their addresses."""
    answer = await http.get(f"/suggestions/{where}", params={"text": text})
    found: list[dict[str, Any]] = answer.json()
    return [(each["text"], each["href"]) for each in found]


def test_every_condition_of_a_query_is_suggested() -> None:
    assert {condition.rstrip(":~<>.").partition(":")[0] for condition in CONDITIONS} == set(NAMES)


async def test_view_is_saved_from_the_list_with_its_tab_and_its_age(pool: Engine, http: httpx2.AsyncClient) -> None:
    page = await shown(http, "/tasks?state=failed&q=role:sums+age%3E1h")
    query = page.one("details", class_="save").one("input", name="query")["value"]
    answer = await send(http, "/views", name=" Late sums ", query=query)

    assert query == "state:failed role:sums age>1h"
    assert answer.headers["location"] == "/tasks?q=state%3Afailed+role%3Asums+age%3E1h"
    link = (await shown(http, answer.headers["location"])).one("nav", class_="views").all("a")[0]
    assert (link.text, link["href"], link["aria-current"]) == ("Late sums", answer.headers["location"], "true")


async def test_view_is_renamed_and_deleted_after_a_question(pool: Engine, http: httpx2.AsyncClient) -> None:
    await send(http, "/views", name="late", query="age>1h")

    await send(http, "/views/1/change", name="later", query="age>2h")
    row = (await shown(http, "/views")).one("tbody").one("tr")
    assert row.one("th").one("a", href="/tasks?q=age%3E2h").text == "later"
    question = await http.post("/views/1/delete", headers={"referer": "http://test/views"})
    assert "Delete the view “later”?" in question.text
    await send(http, "/views/1/delete")

    assert "No view is saved" in (await shown(http, "/views")).text


async def test_rejected_view_is_explained_above_the_list(pool: Engine, http: httpx2.AsyncClient) -> None:
    for name in ("late", "late"):
        answer = await http.post(
            "/views", data={"name": name, "query": "age>1h"}, headers={"referer": "http://test/tasks"}
        )

    assert answer.headers["location"] == "/tasks"
    http.cookies.update(answer.cookies)
    assert "there is a saved view 'late' already" in (await shown(http, "/tasks")).one("p", class_="bad").text


async def test_word_of_a_query_is_completed(pool: Engine, http: httpx2.AsyncClient) -> None:
    pool.enqueue("sums", key="tenant 7")
    pool.claim_one()
    pool.worker(name="shop-0")

    assert await suggested(http, "query", "er") == [("error~", ""), ("error:", ""), ("role:letters", "")]
    assert await suggested(http, "query", "role:letters,su") == [("role:letters,sums", "")]
    assert await suggested(http, "query", "state:ca") == [("state:cancelled", "")]
    assert await suggested(http, "query", 'key:"ten') == [('key:"tenant 7"', "")]
    assert await suggested(http, "query", "worker:shop") == [("worker:2", "")]


async def test_palette_leads_to_pages_things_a_task_and_a_search(pool: Engine, http: httpx2.AsyncClient) -> None:
    pool.put_schedule("every sum", role="sums", handler="add")
    await send(http, "/views", name="Sums of today", query="role:sums age<1d")

    assert await suggested(http, "places", "sum") == [
        ("Sums of today", "/tasks?q=role%3Asums+age%3C1d"),
        ("sums", "/roles/sums"),
        ("every sum", "/schedules/1"),
        ("sum", "/tasks?q=sum"),
    ]
    assert ("Capacity", "/capacity") in await suggested(http, "places", "cap")
    assert (await suggested(http, "places", "25"))[0] == ("Task 25", "/tasks/25")


async def test_500_roles_give_few_suggestions(pool: Engine, http: httpx2.AsyncClient) -> None:
    pool.declare(*({"name": f"role-{number}"} for number in range(500)))

    assert len(await suggested(http, "query", "role:")) == 8
    assert len(await suggested(http, "places", "role")) < 20


async def test_reader_sees_views_and_cannot_change_them(door: Door) -> None:
    await door.services.saved_views.save("late", "age>1h")

    page = read((await door.client.get("/tasks", headers=await door.key(Scope.READ))).text)

    assert page.one("nav", class_="views").all("a")[0].text == "late"
    assert page.all("details", class_="save") == []
