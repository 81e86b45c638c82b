"""The page of the audit log."""

from __future__ import annotations

import httpx2
import pytest

from tests.sql.engine import Engine


def record(pool: Engine, actor: str, action: str = "tasks.retry", via: str = "api", number: int = 1) -> None:
    detail = '{"ids": [7]}'
    for _ in range(number):
        pool.rows("select rolecall.record_audit(%s, %s, '10.0.0.7', %s, %s, '{}')", actor, via, action, detail)


async def test_change_is_shown_with_its_actor_origin_and_detail(pool: Engine, http: httpx2.AsyncClient) -> None:
    record(pool, "ada")

    page = (await http.get("/audit")).text

    assert ">ada</a><br><small>api · 10.0.0.7</small>" in page
    assert "<code>tasks.retry</code>" in page
    assert "{&#34;ids&#34;: [7]}" in page


@pytest.mark.parametrize("query", ["actor=ada", "action=roles.pause", "via=cli", "actor=ada&action=&via=&within=3600"])
async def test_log_can_be_filtered_by_actor_action_and_origin(
    pool: Engine, http: httpx2.AsyncClient, query: str
) -> None:
    record(pool, "ada", "roles.pause", "cli")
    record(pool, "grace")

    page = (await http.get(f"/audit?{query}")).text

    assert ">ada</a>" in page
    assert ">grace</a>" not in page


async def test_events_before_the_chosen_time_are_omitted(pool: Engine, http: httpx2.AsyncClient) -> None:
    record(pool, "ada")
    # The log is append-only, even for its owner: only disabled triggers permit changes.
    pool.rows("set session_replication_role = replica")
    pool.rows("update rolecall.audit_log set at = now() - interval '2 hours'")
    pool.rows("set session_replication_role = origin")

    assert "No change matches the filters." in (await http.get("/audit?within=3600")).text
    assert ">ada</a>" in (await http.get("/audit?within=86400")).text


async def test_long_log_is_paginated(pool: Engine, http: httpx2.AsyncClient) -> None:
    record(pool, "ada", number=51)

    page = (await http.get("/audit?actor=ada")).text
    following = page.partition('rel="next"')[0].rpartition('href="')[2].partition('"')[0].replace("&amp;", "&")

    assert page.count("<code>tasks.retry</code>") == 50
    assert (await http.get(following)).text.count("<code>tasks.retry</code>") == 1
