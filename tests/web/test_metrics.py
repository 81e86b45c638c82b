"""Prometheus metrics of a server: permission and bounded cost."""

from __future__ import annotations

from typing import Any

import httpx2
import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families

from rolecall.model.operator.access import Scope
from tests.extras import without_metrics
from tests.web.doors import Door

__all__ = ["without_metrics"]

ENQUEUE = """select rolecall.enqueue_many('[{"role": "sums", "handler": "add"}]')"""


def open_jobs(answer: httpx2.Response) -> dict[tuple[str, str], float]:
    found = {family.name: family for family in text_string_to_metric_families(answer.text)}
    return {
        (each.labels["role"], each.labels["status"]): each.value for each in found["rolecall_pool_open_jobs"].samples
    }


async def test_open_jobs_are_reported_by_role_and_status_and_cached(
    http: httpx2.AsyncClient, connection: psycopg.Connection[Any]
) -> None:
    connection.execute(ENQUEUE)
    first = await http.get("/metrics")
    connection.execute(ENQUEUE)
    again = await http.get("/metrics")

    assert open_jobs(first)["sums", "ready"] == 1
    assert open_jobs(again) == open_jobs(first)
    assert first.headers["content-type"].startswith("text/plain; version=0.0.4")


async def test_failing_duty_is_included_in_the_metrics(
    http: httpx2.AsyncClient, connection: psycopg.Connection[Any]
) -> None:
    connection.execute("select rolecall.record_duty('test duty', 60, 'w', 'no room left')")
    connection.execute("update rolecall.duties set unfinished_since = unfinished_since - interval '100 s'")

    found = {family.name: family for family in text_string_to_metric_families((await http.get("/metrics")).text)}

    failing = {each.labels["duty"]: each.value for each in found["rolecall_pool_duty_failing_seconds"].samples}
    assert failing["test duty"] >= 100


async def test_scraper_needs_a_key_with_read_scope(door: Door) -> None:
    assert (await door.client.get("/metrics")).status_code == 401
    key = await door.key(Scope.READ)
    assert (await door.client.get("/metrics", headers=key)).status_code == 200


@pytest.mark.usefixtures("without_metrics")
async def test_server_without_the_extra_names_it_and_serves_all_other_requests(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/metrics")

    assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
    assert "pip install 'rolecall[metrics]'" in answer.json()["detail"]
    assert (await http.get("/healthz")).status_code == 200
