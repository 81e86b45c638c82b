"""Tasks for many stores over HTTP: a day's resync, the job queue, staggered batches."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from typing import Any

import httpx2
import pytest

from rolecall import App
from rolecall.testing import drain

DAY = timedelta(days=1)


@pytest.fixture
def today() -> date:
    return datetime.now(UTC).date()


async def test_resync_of_300_stores_has_batches_of_50_every_four_hours(
    http: httpx2.AsyncClient, shop: Any, today: date
) -> None:
    stores = shop.stores(300)
    tomorrow = today + DAY

    answer = await http.post("/api/tasks/generate/resync", json={"date": tomorrow.isoformat()})

    tasks = shop.tasks("product_resync")
    hours = Counter(task["scheduled_for"].astimezone(UTC) for task in tasks)
    assert [(moment.date(), moment.hour, number) for moment, number in sorted(hours.items())] == [
        (tomorrow, hour, 50) for hour in (0, 4, 8, 12, 16, 20)
    ]
    assert [task["payload"]["store_id"] for task in tasks] == stores
    assert (answer.status_code, answer.json()["stored"], answer.json()["standing"]) == (201, 300, 0)
    assert answer.json()["task_ids"] == [task["id"] for task in tasks]
    assert answer.json()["batches"][1] == {"scheduled_for": f"{tomorrow}T04:00:00Z", "stores": 50}


@pytest.mark.usefixtures("direct_route")
async def test_resync_of_a_day_is_generated_once_even_after_it_ran(
    http: httpx2.AsyncClient, shop: Any, app: App, database: str, today: date
) -> None:
    store = shop.store()
    first = await http.post("/api/tasks/generate/resync", json={"batches": 1})
    shop.disable(store)  # so that the following fetch needs no upstream
    await drain(app, database)
    shop.enable(store)

    second = await http.post("/api/tasks/generate/resync", json={})

    assert first.json()["date"] == second.json()["date"] == today.isoformat()
    assert (second.status_code, second.json()["stored"], second.json()["standing"]) == (200, 0, 1)
    assert second.json()["task_ids"] == first.json()["task_ids"]


async def test_different_days_have_separate_resyncs(http: httpx2.AsyncClient, shop: Any, today: date) -> None:
    shop.stores(2)

    for day in (today, today + DAY):
        answer = await http.post("/api/tasks/generate/resync", json={"date": day.isoformat()})
        assert answer.json()["stored"] == 2


async def test_batch_sizes_differ_by_at_most_one_store(http: httpx2.AsyncClient, shop: Any, today: date) -> None:
    shop.stores(7)
    shop.store(crawl_enabled=False)
    shop.store(platform_store_id=None)

    answer = await http.post("/api/tasks/generate/resync", json={"batches": 3, "date": (today + DAY).isoformat()})

    assert [batch["stores"] for batch in answer.json()["batches"]] == [2, 2, 3]


async def test_invalid_resync_is_rejected(http: httpx2.AsyncClient, shop: Any, today: date) -> None:
    far = (today + 400 * DAY).isoformat()
    past = (today - DAY).isoformat()
    bodies: list[Any] = [
        {"batches": 0}, {"batches": 1441}, {"batches": True}, {"batches": "6"}, {"date": past}, {"date": far},
        {"date": 20_000}, {"date": "20000"}, {"date": "tomorrow"}, {"batch": 6}, [],
    ]  # fmt: skip
    for body in bodies:
        answer = await http.post("/api/tasks/generate/resync", json=body)
        assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json"), body


async def test_store_discovery_has_at_most_one_open_task(http: httpx2.AsyncClient, shop: Any) -> None:
    first = await http.post("/api/tasks/generate/discovery", json={})
    again = await http.post("/api/tasks/generate/discovery", json={})
    other = await http.post("/api/tasks/generate/discovery", json={"states": ["co", "AZ"], "priority": 9})

    tasks = shop.tasks("store_discovery")
    assert [(task["payload"], task["priority"]) for task in tasks] == [({}, 5), ({"states": ["AZ", "CO"]}, 9)]
    assert (first.status_code, again.status_code, other.status_code) == (201, 200, 201)
    assert again.json() == {"stored": 0, "standing": 1, "task_ids": first.json()["task_ids"]}


@pytest.mark.parametrize("role", ["payload_fetch", "product_discovery", "product_resync"])
async def test_store_crawl_on_demand_has_at_most_one_open_task(http: httpx2.AsyncClient, shop: Any, role: str) -> None:
    store = shop.store()
    body = {"store_id": store, "role": role, "priority": 7, "scheduled_for": "2030-01-01T12:00:00+02:00"}

    first = await http.post("/api/job-queue/enqueue", json=body)
    second = await http.post("/api/job-queue/enqueue", json=body)

    [task] = shop.tasks(role)
    assert (task["payload"], task["key"], task["priority"]) == ({"store_id": store}, f"store:{store}", 7)
    assert task["scheduled_for"] == datetime(2030, 1, 1, 10, tzinfo=UTC)
    assert (first.status_code, first.json()) == (201, {"stored": 1, "standing": 0, "task_ids": [task["id"]]})
    assert (second.status_code, second.json()["standing"]) == (200, 1)


async def test_scheduled_task_can_be_triggered_to_run_immediately(http: httpx2.AsyncClient, shop: Any) -> None:
    store = shop.store()
    await http.post("/api/job-queue/enqueue", json={"store_id": store, "scheduled_for": "2030-01-01T12:00:00Z"})

    answer = await http.post("/api/job-queue/enqueue", json={"store_id": store})

    [task] = shop.tasks("payload_fetch")
    assert (answer.json()["standing"], task["status"]) == (1, "ready")


async def test_batch_of_stores_is_stored_completely_or_not_at_all(http: httpx2.AsyncClient, shop: Any) -> None:
    stores = shop.stores(3)
    disabled, unknown = shop.store(crawl_enabled=False), 404

    refused = await http.post("/api/job-queue/enqueue-batch", json={"store_ids": [*stores, disabled, unknown]})
    assert (refused.status_code, refused.json()["type"]) == (404, "urn:rolecall:store-not-found")
    assert f"{disabled}, 404" in refused.json()["detail"]
    assert shop.tasks("payload_fetch") == []

    answer = await http.post("/api/job-queue/enqueue-batch", json={"store_ids": [*stores, stores[0]]})
    assert answer.json()["stored"] == 3
    assert [task["payload"]["store_id"] for task in shop.tasks("payload_fetch")] == stores


async def test_all_stores_of_a_state_can_be_enqueued(http: httpx2.AsyncClient, shop: Any) -> None:
    mine = shop.stores(2, state="NV")
    shop.stores(2, state="AZ")
    busy = await http.post("/api/job-queue/enqueue", json={"store_id": mine[0]})

    answer = await http.post("/api/job-queue/enqueue-state", json={"state": "nv"})

    assert (answer.json()["stored"], answer.json()["standing"]) == (1, 1)
    assert answer.json()["task_ids"][0] == busy.json()["task_ids"][0]
    nowhere = await http.post("/api/job-queue/enqueue-state", json={"state": "WY"})
    assert (nowhere.status_code, nowhere.json()["task_ids"]) == (200, [])


async def test_staggered_stores_keep_the_given_order(http: httpx2.AsyncClient, shop: Any) -> None:
    stores = list(reversed(shop.stores(3)))
    body = {"store_ids": stores, "stagger_seconds": 2.5, "scheduled_for": "2030-01-01T00:00:00Z"}

    await http.post("/api/tasks/batch/staggered", json=body)

    begin = datetime(2030, 1, 1, tzinfo=UTC)
    assert [(task["payload"]["store_id"], task["scheduled_for"] - begin) for task in shop.tasks("payload_fetch")] == [
        (store, timedelta(seconds=2.5 * number)) for number, store in enumerate(stores)
    ]


async def test_stores_of_a_state_are_staggered_from_now_on(http: httpx2.AsyncClient, shop: Any) -> None:
    mine = shop.stores(3, state="AZ")
    shop.store(state="NV")

    answer = await http.post("/api/tasks/batch/az-stores", json={"stagger_seconds": 60, "role": "product_resync"})

    tasks = shop.tasks("product_resync")
    assert (answer.status_code, [task["payload"]["store_id"] for task in tasks]) == (201, mine)
    first, second, third = [task["scheduled_for"] for task in tasks]
    assert third - second == timedelta(seconds=60)
    assert abs(second - first - timedelta(seconds=60)) < timedelta(seconds=10)  # the first is due when it is stored


async def test_invalid_jobs_are_rejected(http: httpx2.AsyncClient, shop: Any) -> None:
    store = shop.store()
    refused: dict[str, list[dict[str, Any]]] = {
        "/api/job-queue/enqueue": [
            {}, {"store_id": "1"}, {"store_id": True}, {"store_id": 2**63}, {"store_id": store, "role": "bake"},
            {"store_id": store, "priority": 101}, {"store_id": store, "scheduled_for": 5}, {"store_id": store, "scheduled_for": "2030-01-01T00:00:00-21:28"}, {"store_id": store, "key": "x"},
            {"store_id": store, "scheduled_for": "2030-01-01T00:00:00"}, {"store_id": store, "scheduled_for": "9999-12-31T00:00:00Z"},
        ],
        "/api/job-queue/enqueue-batch": [{"store_ids": []}, {"store_ids": [1] * 1_001}, {"store_ids": "1"}, {"store_ids": [None]}],
        "/api/job-queue/enqueue-state": [{"state": "A"}, {"state": "A%"}, {"state": ""}, {}],
        "/api/tasks/batch/staggered": [
            {"store_ids": [store]}, {"store_ids": [store], "stagger_seconds": -1}, {"store_ids": [store], "stagger_seconds": 3_601},
            {"store_ids": [store], "stagger_seconds": True},
        ],
        "/api/tasks/batch/a-stores": [{"stagger_seconds": 1}],
    }  # fmt: skip
    for path, bodies in refused.items():
        for each in bodies:
            answer = await http.post(path, json=each)
            assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json"), each
    assert shop.tasks("payload_fetch") == []
