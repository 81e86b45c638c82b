"""The page of a handler, and the navigation that leads to it."""

from __future__ import annotations

import httpx2

from tests.dashboard.reading import shown
from tests.sql.engine import Engine


async def test_page_of_a_handler_shows_only_its_tasks_and_errors(pool: Engine, http: httpx2.AsyncClient) -> None:
    for handler in ("add", "stumble"):
        pool.enqueue("sums", handler=handler, max_attempts=1)
        pool.fail(pool.claim_one(), error=f"{handler} broke")
    pool.enqueue("sums", handler="add")
    running = pool.claim_one()

    page = await shown(http, "/handlers/add")

    assert page.one("h1").text == "add"
    assert [row["id"] for row in page.all("tr") if (row.attributes.get("id") or "").startswith("running-")] == [
        f"running-{running.id}"
    ]
    assert "add broke" in page.text
    assert "stumble broke" not in page.text


async def test_page_of_a_handler_shows_its_keys_and_its_workers(pool: Engine, http: httpx2.AsyncClient) -> None:
    pool.enqueue_many([{"role": "sums", "handler": "add", "key": key} for key in ("shop:1", "shop:1", "shop:2")])
    pool.worker("sums", name="adder")
    pool.worker("letters", name="postman")

    page = await shown(http, "/handlers/add")

    keys = page.one("section", **{"aria-labelledby": "keys-title"})
    crew = page.one("section", **{"aria-labelledby": "crew-title"})
    assert [row.text.split() for row in keys.one("tbody").all("tr")] == [["shop:1", "2", "0"], ["shop:2", "1", "0"]]
    assert ("adder" in crew.text, "postman" in crew.text) == (True, False)


async def test_handler_that_nobody_declares_is_shown_with_its_tasks(pool: Engine, http: httpx2.AsyncClient) -> None:
    pool.enqueue("sums", handler="add", max_attempts=1)
    pool.fail(pool.claim_one(), error="add broke")
    pool.rows("delete from rolecall.handlers where name = 'add' returning name")

    page = await shown(http, "/handlers/add")

    assert "No worker declares this handler any more" in page.text
    assert "add broke" in page.text


async def test_unknown_handler_has_no_page(pool: Engine, http: httpx2.AsyncClient) -> None:
    assert (await http.get("/handlers/nothing", headers={"accept": "text/html"})).status_code == 404


async def test_navigation_has_seven_entries_and_the_other_lists_are_tabs(
    pool: Engine, http: httpx2.AsyncClient
) -> None:
    roles, keys = await shown(http, "/roles"), await shown(http, "/keys")
    entries = [link.text.strip() for link in roles.one("nav", id="navigation").all("a")]
    tabs = [link["href"] for link in keys.one("nav", **{"aria-label": "Parts of Roles"}).all("a")]

    assert entries == ["Now", "Tasks", "Errors", "Roles", "Schedules", "Workers", "Changes"]
    assert tabs == ["/roles", "/capacity", "/keys"]
    assert [
        link["href"] for link in keys.one("nav", id="navigation").all("a") if "aria-current" in link.attributes
    ] == ["/roles"]
