"""The task list: its rows and its filters."""

from __future__ import annotations

import httpx2
import pytest

from rolecall.service import tasks
from tests.dashboard.reading import Element, shown
from tests.sql.engine import Engine


def rows(page: Element) -> list[str]:
    return [row["id"] for row in page.all("tr") if "id" in row.attributes]


def tab_links(page: Element) -> list[Element]:
    [states] = [each for each in page.all("nav", class_="tabs") if each["aria-label"].startswith("States")]
    return states.all("a")


def tabs(page: Element) -> set[str]:
    return {tab.text for tab in tab_links(page)}


async def test_empty_list_explains_how_to_enqueue(pool: Engine, http: httpx2.AsyncClient) -> None:
    page = await http.get("/tasks")

    assert "No task has been enqueued yet" in page.text
    assert "rolecall enqueue" in page.text


async def test_row_shows_and_links_its_task(pool: Engine, http: httpx2.AsyncClient) -> None:
    task = pool.enqueue("sums", handler="stumble", key="ledger", max_attempts=4)
    claim = pool.claim_one()
    pool.start(claim)
    pool.report_info(claim, {"rows": 12, "nested": {"a": 1}})

    page = await shown(http, "/tasks")

    row = page.one("tr", id=f"task-{task}")
    assert all(word in row.text for word in (str(task), "stumble", "sums", "running", "ledger", "1 of 4", "rows 12"))
    assert row.one("a", class_="task-name")["href"] == f"/tasks/{task}"


async def test_list_shows_only_the_first_line_of_an_error(pool: Engine, http: httpx2.AsyncClient) -> None:
    pool.enqueue("sums", handler="add", max_attempts=1)
    pool.fail(pool.claim_one(), "ValueError: no such shop\nline two")

    page = await http.get("/tasks")

    assert "ValueError: no such shop" in page.text
    assert "line two" not in page.text


async def test_list_does_not_load_payloads(pool: Engine, http: httpx2.AsyncClient) -> None:
    pool.enqueue("sums", handler="add", payload={"secretly": "large"})

    assert "secretly" not in (await http.get("/tasks")).text


async def test_search_that_takes_too_long_leads_to_older_tasks(
    pool: Engine, http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "SEARCH_SECONDS", 0.0)
    needle = pool.enqueue("sums", handler="add", dedupe_key="needle")
    pool.enqueue_many([{"role": "sums", "handler": "add"}] * 5_000)

    empty = await shown(http, "/tasks?text=needle")
    [link] = [each for each in empty.one(class_="empty").all("a") if "Continue the search" in each.text]
    older = await shown(http, link["href"])

    assert "No task back to" in empty.text
    assert older.one("table").all("a", href=f"/tasks/{needle}")


async def test_states_are_tabs_with_counts(pool: Engine, http: httpx2.AsyncClient) -> None:
    pool.enqueue_many([{"role": "sums", "handler": "add"}] * 3 + [{"role": "letters", "handler": "post"}])
    pool.claim_one("letters")

    everywhere = await shown(http, "/tasks")
    within = await shown(http, "/tasks?role=sums")

    assert {"All 4", "Pending 3", "Running 1", "Failed 0"} <= tabs(everywhere)
    assert {"All 3", "Pending 3", "Running 0"} <= tabs(within)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("state=scheduled", ["later"]),
        ("state=pending", ["later", "now"]),
        ("handler=post", ["later"]),
        ("role=sums", ["now"]),
        ("key=k", ["now"]),
        ("text=NOW", ["now"]),
        ("created_to=2000-01-01T00:00", []),
        ("created_from=2000-01-01T00:00&roots=true&worker=", ["later", "now"]),
        ("parent=1", []),
    ],
)
async def test_list_is_filtered_by_its_url(
    pool: Engine, http: httpx2.AsyncClient, query: str, found: list[str]
) -> None:
    now = pool.enqueue("sums", handler="add", key="k", payload={"name": "now"})
    later = pool.enqueue("letters", handler="post", after=3600)

    page = await shown(http, f"/tasks?{query}")

    names = {f"task-{now}": "now", f"task-{later}": "later"}
    assert [names[row] for row in rows(page)] == found


async def test_active_filter_is_shown_in_the_form_and_kept_in_links(pool: Engine, http: httpx2.AsyncClient) -> None:
    pool.enqueue("sums", handler="add", key="store:7")

    page = await shown(http, "/tasks?key=store:7&state=pending&created_from=2026-01-31T12:00:00Z")

    assert page.one("input", name="key")["value"] == "store:7"
    assert page.one("input", name="created_from")["value"] == "2026-01-31T12:00:00"
    assert all("key=store%3A7" in tab["href"] for tab in tab_links(page))
    assert "created from: 2026-01-31 12:00:00 UTC" in page.one("ul", class_="chips").text


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("worker=ada", "worker: “ada” is not a number"),
        ("parent=0", "parent: “0” is not a valid id"),
        ("created_from=yesterday", "created from: “yesterday” is not a time"),
        ("state=sleepy", "sleepy"),
        ("cursor=nonsense", "is not a cursor of this list"),
        (f"key={'x' * 201}", "longer than 200 characters"),
        ("q=rol:mail", "there is no field &#39;rol&#39;"),
        ("key=%00", "key"),
    ],
)
async def test_invalid_filter_is_reported_and_the_others_are_kept(
    pool: Engine, http: httpx2.AsyncClient, query: str, sentence: str
) -> None:
    answer = await http.get(f"/tasks?role=sums&{query}")

    assert answer.status_code == 422
    assert sentence in answer.text
    assert "<option selected>sums</option>" in answer.text


async def test_empty_result_links_to_all_tasks(pool: Engine, http: httpx2.AsyncClient) -> None:
    pool.enqueue("sums", handler="add")

    page = await shown(http, "/tasks?key=nobody")

    assert "No task matches this filter" in page.text
    assert page.one("div", class_="empty").one("a")["href"] == "/tasks"


async def test_long_list_continues_from_its_cursor(pool: Engine, http: httpx2.AsyncClient) -> None:
    """Pages of 25, newest first."""
    ids, _ = pool.enqueue_many([{"role": "sums", "handler": "add"}] * 30)

    first = await shown(http, "/tasks?role=sums")
    second = await shown(http, first.one("a", rel="next")["href"])

    assert rows(first) + rows(second) == [f"task-{task}" for task in ids[::-1]]
    assert len(rows(first)) == 25
    assert second.all("a", rel="next") == []


async def test_parent_links_to_its_children(pool: Engine, http: httpx2.AsyncClient) -> None:
    parent = pool.enqueue("sums", handler="add")
    claim = pool.claim_one()
    pool.complete(claim, next={"children": [{"handler": "post"}], "serial": False, "gathers": False})

    page = await shown(http, "/tasks?roots=true")

    row = page.one("tr", id=f"task-{parent}")
    assert [link["href"] for link in row.all("a") if link.text == "children"] == [f"/tasks?parent={parent}"]
    assert rows(page) == [f"task-{parent}"]


async def test_conditions_of_a_query_become_filters(pool: Engine, http: httpx2.AsyncClient) -> None:
    task = pool.enqueue("sums", handler="add", payload={"store": 58})
    pool.enqueue("sums", handler="add", payload={"store": 59})

    page = await shown(http, "/tasks?role=letters&q=role:sums+payload.store:58+state:pending")

    assert rows(page) == [f"task-{task}"]
    assert page.one("input", name="q")["value"] == "payload.store:58"
    assert "role: sums" in page.one("ul", class_="chips").text
    assert page.one("ul", class_="chips").all("a")[-1]["href"] == "/tasks"


async def test_query_that_is_an_id_leads_to_the_task(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/tasks?q=25")

    assert (answer.status_code, answer.headers["location"]) == (303, "/tasks/25")
