"""The page of keys: capacities and the state of a key."""

from __future__ import annotations

import httpx2

from tests.dashboard.reading import send, shown
from tests.sql.engine import Engine

FROM = {"referer": "http://test/keys"}


async def test_declared_and_set_capacities_are_shown_separately(pool: Engine, http: httpx2.AsyncClient) -> None:
    pool.rows("""select rolecall.declare_key_capacities('{"tenant:*": 2}')""")
    await http.post("/keys/set", data={"pattern": "tenant:*", "capacity": "3"})
    await http.post("/keys/set", data={"pattern": "tenant:7", "capacity": "5"})

    rows = (await shown(http, "/keys")).one("section", id="capacities").one("tbody").all("tr")

    assert [row.text for row in rows] == ["tenant:* 3 2 3 Reset", "tenant:7 5 – 5 Reset"]


async def test_key_page_shows_its_holders_and_waiting_tasks(pool: Engine, http: httpx2.AsyncClient) -> None:
    pool.rows("select rolecall.set_key_capacity('tenant:*', 2)")
    pool.enqueue_many([{"role": "sums", "handler": "add", "key": "tenant:7"}] * 5)
    pool.enqueue("sums", handler="add", key="tenant:7", after=60)
    holders = [claim.id for claim in pool.claim(5)]

    card = (await shown(http, "/keys?key=tenant:7")).one("section", id="key")

    assert card.one("dl").text == "Capacity 2 by the pattern tenant:* Held 2 Waiting 3 Due later 1"
    assert {row.one("a")["href"] for row in card.one("tbody").all("th")} == {f"/tasks/{each}" for each in holders}
    assert card.one("p", class_="links").one("a")["href"] == "/tasks?key=tenant%3A7"


async def test_busiest_keys_are_listed_with_their_capacities(pool: Engine, http: httpx2.AsyncClient) -> None:
    pool.enqueue_many([{"role": "sums", "handler": "add", "key": "tenant:7"}] * 5)
    pool.enqueue_many([{"role": "sums", "handler": "add", "key": "tenant:8"}] * 2)
    pool.claim(1)

    section = (await shown(http, "/keys")).one("section", id="busiest")

    rows = section.one("tbody").all("tr")
    assert [row.text for row in rows] == ["tenant:7 4 1 1 Set Pause", "tenant:8 2 0 1 Set Pause"]
    assert rows[0].all("a")[1]["href"] == "/tasks?state=ready&key=tenant%3A7"


async def test_key_is_paused_and_resumed_from_its_row(pool: Engine, http: httpx2.AsyncClient) -> None:
    pool.enqueue_many([{"role": "sums", "handler": "add", "key": "tenant:7"}] * 5)

    async def row() -> str:
        [row] = (await shown(http, "/keys")).one("section", id="busiest").one("tbody").all("tr")
        return row.text

    await http.post("/keys/set", data={"pattern": "tenant:7", "capacity": "0"}, headers=FROM)
    row_while_paused, claims_while_paused = await row(), pool.claim(5)
    await http.post("/keys/resume", data={"pattern": "tenant:7"}, headers=FROM)

    assert (row_while_paused, claims_while_paused) == ("tenant:7 5 0 paused Set Resume", [])
    assert await row() == "tenant:7 5 0 1 Set Pause"
    assert len(pool.claim(5)) == 1


async def test_page_without_crowded_keys_lists_none(http: httpx2.AsyncClient) -> None:
    assert "Busiest keys" not in (await http.get("/keys")).text


async def test_unknown_key_has_the_default_capacity_of_one(http: httpx2.AsyncClient) -> None:
    card = (await shown(http, "/keys?key=new")).one("section", id="key")

    assert "Capacity 1 the default" in card.text
    assert "No task holds the key." in card.text


async def test_capacity_can_be_set_and_reset(pool: Engine, http: httpx2.AsyncClient) -> None:
    await http.post("/keys/set", data={"pattern": "tenant:*", "capacity": "3"}, headers=FROM)
    assert "3 tasks of each key that begins with &#39;tenant:&#39; can run at once" in (await http.get("/keys")).text

    await send(http, "/keys/reset", at="/keys", pattern="tenant:*")
    assert "The capacity of each key that begins with &#39;tenant:&#39; is reset" in (await http.get("/keys")).text

    await send(http, "/keys/reset", at="/keys", pattern="tenant:*")
    assert "No capacity was set for each key" in (await http.get("/keys")).text
    assert pool.rows("select * from rolecall.key_capacities()") == []


async def test_invalid_pattern_or_number_shows_an_error_and_sets_nothing(
    pool: Engine, http: httpx2.AsyncClient
) -> None:
    for pattern, capacity in (("a*b", "2"), ("a", "-1"), ("a", "many"), ("", "2")):
        await http.post("/keys/set", data={"pattern": pattern, "capacity": capacity}, headers=FROM)

        assert 'class="notice bad"' in (await http.get("/keys")).text
    assert pool.rows("select * from rolecall.key_capacities()") == []


async def test_long_list_is_paginated(pool: Engine, http: httpx2.AsyncClient) -> None:
    pool.rows("select rolecall.set_key_capacity('k' || lpad(n::text, 3, '0'), 2) from generate_series(1, 51) as n")

    first = await shown(http, "/keys")
    rest = await shown(http, first.one("a", rel="next")["href"])

    assert len(first.one("tbody").all("tr")) == 50
    assert rest.one("tbody").one("tr").text.startswith("k051")


async def test_task_page_links_to_its_key(pool: Engine, http: httpx2.AsyncClient) -> None:
    task_id = pool.enqueue("sums", handler="add", key="a/b c")

    assert (await shown(http, f"/tasks/{task_id}")).all("a", href="/keys?key=a%2Fb+c") != []


async def test_unparked_task_shows_an_event(pool: Engine, http: httpx2.AsyncClient) -> None:
    task_id = pool.enqueue("sums", handler="add", key="k")
    pool.rows("update rolecall.tasks set parked = true")
    pool.rows("select rolecall.unpark()")

    assert "Unparked, because its key was free" in (await http.get(f"/tasks/{task_id}")).text
