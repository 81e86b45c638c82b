"""Requests of programs written for the previous crawlers have the same effect as there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from storecrawl.app import build_app
from storecrawl.platforms.settings import PlatformSettings
from storecrawl.settings import CrawlSettings

from rolecall import App
from rolecall.db.run import run
from rolecall.sql import schedules
from tests.web.old_requests import Old, answered_otherwise

TASK = "id role dispensary_id platform status priority scheduled_for worker_id claimed_at started_at retry_count max_retries"
SCHEDULE = "id name role enabled interval_hours priority state_code last_run_at next_run_at last_task_count last_error immutable"
PAYLOAD = "id dispensary_id product_count size_gz size_raw sha256 fetched_at"
DIFF = "success from to diff details"
MADE = "stored standing task_ids"
PROBLEM = "type title status detail"
STORES = {"dispensary_ids": ["{store}"]}
REQUESTS = {
    "tasks": [
        Old("GET /api/tasks", 200, TASK),
        Old("GET /api/tasks?role=payload_fetch&status=pending&limit=50", 200, TASK),
        Old("GET /api/tasks?dispensary_id={store}", 200, TASK),
        Old("GET /api/tasks?worker_id=1", 200),
        Old("GET /api/tasks?worker_id=gone-1", 200),
        Old("GET /api/tasks/{task}", 200, f"{TASK} payload result"),
        Old(
            "POST /api/tasks", 201, "id", {"role": "product_resync", "dispensary_id": "{store}", "platform": "dutchie"}
        ),
        Old("POST /api/tasks", 201, "id", {"role": "product_resync", "dispensary_id": "{store}", "max_retries": 3}),
        Old("POST /api/tasks", 201, "id", {"role": "payload_fetch", "dispensary_id": "{other}", "priority": 10}),
        Old("POST /api/tasks", 201, "id", {"role": "store_discovery", "platform": "dutchie"}),
        Old("POST /api/tasks", 201, "id", {"role": "store_discovery", "state_code": "AZ"}),
        Old("POST /api/tasks", 201, "id", {"role": "product_refresh", "payload": {"payload_id": "{payload}"}}),
        Old("POST /api/tasks", 201, "id", {"role": "analytics_refresh"}),
        Old("POST /api/tasks", 201, "id", {"role": "entry_point_discovery", "dispensary_id": "{store}"}),
        Old("GET /api/tasks/counts", 200, "role state number"),
        Old("GET /api/tasks/capacity", 200, "role pending_tasks active_workers"),
        Old("GET /api/tasks/capacity/product_resync", 200, "pending_tasks active_workers workers_needed"),
        Old("POST /api/tasks/recover-stale", 200, "recovered"),
    ],
    "generation": [
        Old("POST /api/tasks/generate/resync", 201, "date batches stored"),
        Old("POST /api/tasks/generate/resync", 200, "date batches stored standing", {"batches": 6}),
        Old("POST /api/tasks/generate/discovery", 201, MADE),
        Old("POST /api/tasks/generate/discovery", 201, MADE, {"state_code": "AZ", "platform": "dutchie"}),
    ],
    "schedules": [
        Old("GET /api/schedules", 200, SCHEDULE),
        Old("PUT /api/schedules/{schedule}", 200, SCHEDULE, {"enabled": False, "priority": 3}),
        Old("PUT /api/schedules/{schedule}", 200, SCHEDULE, {"interval_hours": 6}),
        Old("PUT /api/schedules/{schedule}", 200, SCHEDULE, {"state_code": "AZ"}),
        Old("POST /api/schedules/{schedule}/trigger", 200, "task_id"),
    ],
    "payloads": [
        Old("GET /api/payloads", 200, PAYLOAD),
        Old("GET /api/payloads?dispensary_id={store}&limit=10", 200, PAYLOAD),
        Old("GET /api/payloads/{payload}", 200, PAYLOAD),
        Old("GET /api/payloads/{payload}/data", 200, "data"),
        Old("GET /api/payloads/store/{store}", 200, PAYLOAD),
        Old("GET /api/payloads/store/{store}/latest", 200, PAYLOAD),
        Old("GET /api/payloads/store/{store}/diff", 200, DIFF),
        Old("GET /api/payloads/store/{store}/diff?from={older}&to={payload}", 200, DIFF),
        Old(
            "GET /api/payloads/store/{store}/query?in_stock=true&limit=100&offset=0&sort=price&order=desc",
            200,
            "name price",
        ),
        Old("GET /api/payloads/store/{store}/query?brand=x&category=flower&price_min=1&thc_max=99&fields=id,name", 200),
        Old("GET /api/payloads/store/{store}/aggregate?group_by=category", 200, "count avg_price in_stock_count"),
    ],
    "job queue": [
        Old("POST /api/job-queue/enqueue", 201, MADE, {"role": "analytics_refresh"}),
        Old("POST /api/job-queue/enqueue", 201, MADE, {"role": "store_discovery", "platform": "dutchie"}),
        Old("POST /api/job-queue/enqueue", 201, MADE, {"role": "store_discovery", "state_code": "AZ", "priority": 10}),
        Old("POST /api/job-queue/enqueue", 201, MADE, {"role": "storage_upkeep"}),
        *(
            Old("POST /api/job-queue/enqueue", 201, MADE, {"role": role, "dispensary_id": "{other}"})
            for role in ("payload_fetch", "product_discovery", "product_resync", "image_fetch", "entry_point_discovery")
        ),
        Old("POST /api/job-queue/enqueue", 201, MADE, {"role": "product_refresh", "dispensary_id": "{store}"}),
    ],
    "batches": [
        Old("POST /api/job-queue/enqueue-batch", 201, MADE, {**STORES, "role": "product_resync"}),
        Old("POST /api/job-queue/enqueue-state", 201, MADE, {"state_code": "AZ", "role": "product_resync"}),
        Old("POST /api/tasks/batch/staggered", 201, MADE, {**STORES, "role": "payload_fetch", "stagger_seconds": 15}),
        Old("POST /api/tasks/batch/az-stores", 201, MADE, {"role": "product_discovery", "stagger_seconds": 15}),
    ],
    "the rest": [
        Old("GET /api/workers/k8s/replicas", 503, "detail"),
        Old("POST /api/workers/k8s/scale", 503, "detail", {"replicas": 8}),
        Old("GET /api/stores?state_code=AZ", 200, "id name state"),
        Old("GET /api/discovery/platforms/dt/locations?state_code=AZ", 200),
        Old("GET /api/discovery/cities?state_code=AZ", 200),
    ],
}
REFUSED = [
    Old("GET /api/payloads?offset=50", 422, PROBLEM),
    Old("GET /api/stores?page=2", 422),
    Old("GET /api/tasks?platform=jane", 422),
    Old("GET /api/payloads?store_id=1&dispensary_id=2", 422),
    Old("POST /api/tasks", 422, body={"role": "payload_fetch", "dispensary_id": 1, "payload": {"store_id": 2}}),
    Old("POST /api/tasks", 422, body={"role": "payload_fetch", "dispensary_id": "one"}),
    Old("POST /api/job-queue/enqueue", 422, body={"role": "analytics_refresh", "dispensary_id": 1}),
    Old("POST /api/job-queue/enqueue", 422, body={"role": "payload_fetch"}),
    Old("POST /api/job-queue/enqueue", 422, body={"role": "payload_fetch", "dispensary_id": 1, "state_code": "AZ"}),
    Old("POST /api/job-queue/enqueue", 422, body={"role": "payload_fetch", "store_id": 1, "dispensary_id": 2}),
    Old("POST /api/job-queue/enqueue", 422, body={"role": "payload_fetch", "dispensary_id": 1, "platform": "jane"}),
    Old("POST /api/job-queue/enqueue", 422, body={"role": "bake"}),
    Old("POST /api/job-queue/enqueue-batch", 422, body={"role": "payload_fetch"}),
    Old("POST /api/tasks/generate/discovery", 422, body={"states": ["AZ"], "state_code": "CA"}),
]


@pytest.fixture
def app(tmp_path: Path) -> App:
    return build_app(
        CrawlSettings(platforms={"dutchie": PlatformSettings(upstream="http://127.0.0.1:9")}, data_dir=tmp_path)
    )


@pytest.fixture
async def places(
    http: httpx2.AsyncClient,
    app: App,
    shop: Any,
    apply: Callable[..., Awaitable[int]],
    connection: psycopg.Connection[Any],
) -> dict[str, int]:
    store, other = shop.store(), shop.store()
    run(connection, schedules.ensure(app.schedules.values()))
    [task] = rows(connection, "select rolecall.enqueue('payload_fetch', %s, p_key => %s)", *store_request(store))
    [schedule] = rows(connection, "select id from rolecall.schedules where name = 'payload_fetch_all_dutchie'")
    return {
        "store": store,
        "other": other,
        "older": await apply(store, 0, a={}),
        "payload": await apply(store, 4, a={}, b={}),
        "task": task,
        "schedule": schedule,
    }


def store_request(store: int) -> tuple[str, str]:
    return f'{{"store_id": {store}}}', f"store:{store}"


def rows(connection: psycopg.Connection[Any], query: str, *parameters: object) -> list[Any]:
    return [row[0] for row in connection.execute(query.encode(), parameters).fetchall()]


@pytest.mark.parametrize("subject", list(REQUESTS))
async def test_requests_of_earlier_releases_still_get_their_responses(
    http: httpx2.AsyncClient, places: dict[str, int], subject: str
) -> None:
    assert [wrong async for wrong in answered_otherwise(http, REQUESTS[subject], places)] == []


async def test_ambiguous_requests_of_earlier_releases_are_rejected(
    http: httpx2.AsyncClient, places: dict[str, int]
) -> None:
    assert [wrong async for wrong in answered_otherwise(http, REFUSED, places)] == []


async def test_task_of_a_store_is_stored_and_found_under_either_field_name(
    http: httpx2.AsyncClient, places: dict[str, int]
) -> None:
    body = {"role": "product_resync", "dispensary_id": places["other"], "platform": "dutchie", "max_retries": 2}
    sent = await http.post("/api/job-queue/enqueue", json={"role": "payload_fetch", "dispensary_id": places["other"]})

    made = (await http.get((await http.post("/api/tasks", json=body)).headers["Location"])).json()
    found = (await http.get(f"/api/tasks?dispensary_id={places['other']}&role=payload_fetch")).json()["items"]

    assert (made["payload"], made["dispensary_id"], made["platform"], made["max_retries"]) == (
        {"store_id": places["other"], "platform": "dutchie"},
        places["other"],
        "dutchie",
        2,
    )
    assert [(task["id"], task["dispensary_id"]) for task in found] == [(sent.json()["task_ids"][0], places["other"])]


async def test_schedules_have_the_former_settings(http: httpx2.AsyncClient, places: dict[str, int]) -> None:
    items = {each["name"]: each for each in (await http.get("/api/schedules")).json()["items"]}

    former = {
        "payload_fetch_all_dutchie": ("payload_fetch", 4, 0),
        "store_discovery_dutchie": ("store_discovery", 24, 5),
        "analytics_refresh": ("analytics_refresh", 6, 0),
        "orphan_sweep": ("storage_upkeep", 24, 0),
    }
    assert {
        name: (items[name]["role"], items[name]["interval_hours"], items[name]["priority"]) for name in former
    } == former
