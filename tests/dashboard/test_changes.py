"""The page of changes."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from tests.dashboard.reading import shown
from tests.sql.engine import Engine


def record(pool: Engine, actor: str, action: str, detail: dict[str, Any], outcome: object = None) -> None:
    query = "select rolecall.record_audit(%s, 'api', '10.0.0.7', %s, %s, %s)"
    pool.rows(query, actor, action, json.dumps(detail), json.dumps(outcome))


@pytest.mark.parametrize(
    ("action", "detail", "sentence"),
    [
        ("roles.pause", {"role": "mail", "seconds": 3600}, "ada paused role mail for 1 h"),
        ("roles.pause", {"role": "mail", "seconds": None}, "ada paused role mail"),
        ("tasks.retry", {"ids": [7]}, "ada retried task 7"),
        ("tasks.cancel", {"ids": [7, 8]}, "ada cancelled 2 tasks: 7, 8"),
        ("tasks.delete", {"ids": {"number": 900}}, "ada deleted 900 tasks"),
        ("tasks.retry", {"which": {"role": "mail", "state": "failed"}}, "ada retried tasks (role mail, failed)"),
        ("tasks.enqueue", {"handlers": ["add"], "number": 3}, "ada enqueued 3 tasks of add"),
        ("key_capacities.set", {"pattern": "shop:*", "capacity": 3}, "ada set key shop:* to a capacity of 3"),
        ("scaling.scale", {"name": "w", "previous": 1, "desired": 4}, "ada scaled workload w from 1 to 4 pods"),
        ("shop.open", {"door": 1}, "ada shop.open"),
        ("scaling.scale", {}, "ada scaled workload"),
    ],
)
async def test_change_is_a_sentence(
    pool: Engine, http: httpx2.AsyncClient, action: str, detail: dict[str, Any], sentence: str
) -> None:
    record(pool, "ada", action, detail)

    page = await shown(http, "/changes")

    assert f"{sentence} api · 10.0.0.7" in page.text


async def test_bulk_action_is_one_sentence_with_its_present_number(pool: Engine, http: httpx2.AsyncClient) -> None:
    for _ in range(2):
        pool.enqueue("sums", handler="add")
    await http.post("/tasks/bulk", data={"action": "cancel", "role": "sums"})

    before = (await shown(http, "/changes")).text
    pool.clock.advance(seconds=10)
    pool.rows("select rolecall.work_off_bulk_action()")
    after = await shown(http, "/changes")

    assert "started to cancel 2 tasks with bulk action 1 (role sums): 0 of 2 tasks done" in before
    assert "cancelled 2 tasks with bulk action 1 (role sums)" in after.text
    assert after.all("a", href="/changes/bulk/1")


@pytest.mark.parametrize(
    "query", ["actor=ada", "kind=roles", "thing=mail", "kind=roles&thing=mail&actor=&since=&until=&via="]
)
async def test_changes_are_filtered_by_person_and_thing(pool: Engine, http: httpx2.AsyncClient, query: str) -> None:
    record(pool, "ada", "roles.pause", {"role": "mail", "seconds": None})
    record(pool, "grace", "tasks.retry", {"ids": [7]})

    page = await shown(http, f"/changes?{query}")

    assert "ada paused" in page.text
    assert "grace retried" not in page.text


@pytest.mark.parametrize("thing", ["7", "9", "mail"])
async def test_thing_is_found_in_lists_filters_and_outcomes(pool: Engine, http: httpx2.AsyncClient, thing: str) -> None:
    record(pool, "ada", "tasks.retry", {"ids": [6, 7], "which": {"role": "mail"}}, 9)

    assert "ada retried" in (await shown(http, f"/changes?thing={thing}")).text
    assert "ada retried" not in (await shown(http, f"/changes?thing={thing}1")).text


async def test_changes_are_filtered_by_time(pool: Engine, http: httpx2.AsyncClient) -> None:
    record(pool, "ada", "roles.resume", {"role": "mail"})
    [[at]] = pool.rows("select to_char(at at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS') from rolecall.audit_log")

    assert "ada resumed role mail" in (await shown(http, f"/changes?since={at}")).text
    assert "No change matches the filters." in (await shown(http, f"/changes?until={at}")).text


async def test_long_list_is_paginated(pool: Engine, http: httpx2.AsyncClient) -> None:
    for _ in range(51):
        record(pool, "ada", "tasks.retry", {"ids": [7]})

    page = (await http.get("/changes?actor=ada")).text
    following = page.partition('rel="next"')[0].rpartition('href="')[2].partition('"')[0].replace("&amp;", "&")

    assert page.count('<tr id="change-') == 50
    assert (await http.get(following)).text.count('<tr id="change-') == 1


async def test_timeline_names_the_person_and_the_other_tasks(pool: Engine, http: httpx2.AsyncClient) -> None:
    ids = [pool.enqueue("sums", handler="add") for _ in range(3)]
    await http.post("/tasks/bulk", data={"action": "cancel", "role": "sums"})
    pool.clock.advance(seconds=10)
    pool.rows("select rolecall.work_off_bulk_action()")
    [[actor]] = pool.rows("select actor from rolecall.bulk_actions")

    page = await shown(http, f"/tasks/{ids[0]}")

    assert f"{actor} cancelled this with 2 others bulk action 1" in page.text
    assert [each.text for each in page.all("b") if each.text == "Cancelled"] == []


async def test_page_of_an_action_shows_its_progress_until_it_is_stopped(pool: Engine, http: httpx2.AsyncClient) -> None:
    for _ in range(3):
        pool.enqueue("sums", handler="add")
    await http.post("/tasks/bulk", data={"action": "cancel", "role": "sums"})
    waiting = await shown(http, "/changes/bulk/1")
    pool.clock.advance(seconds=10)
    pool.rows("select rolecall.work_off_bulk_action(2)")
    running = await shown(http, "/changes/bulk/1")
    await http.post("/changes/bulk/1/stop")
    stopped = await shown(http, "/changes/bulk/1")

    assert "Cancel 3 tasks" in waiting.text
    assert waiting.all("button")[-1].text == "Withdraw"
    assert "2 of 3 tasks" in running.text
    assert running.all("button")[-1].text == "Stop"
    assert "2 of 3 tasks, then stopped by" in stopped.text
