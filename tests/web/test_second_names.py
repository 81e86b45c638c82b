"""Alternate names over HTTP: Rolecall's own, and the field aliases of an app."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from rolecall import App, Client, InvalidDeclaration
from rolecall.db.connect import connect_async
from rolecall.web import build
from tests.web.doors import unguarded


@pytest.fixture
def app() -> App:
    """An importer of tenants, which its older clients call customers."""
    app = App("test")

    @app.task
    async def import_orders(tenant: int, state: str | None = None) -> None:
        """Import."""

    app.alias("customer_id", "tenant", key="tenant:{tenant}")
    app.alias("state_code", "state")
    app.constant("region", "eu")
    return app


@pytest.fixture
async def http(database: str, app: App) -> AsyncIterator[httpx2.AsyncClient]:
    with Client(database, app=app) as client:
        client.enqueue("import_orders", {"tenant": 1}, key="tenant:1")
    application = unguarded(database, app)
    transport = httpx2.ASGITransport(app=application)
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=transport, base_url="http://test") as client_of_api,
    ):
        yield client_of_api


async def enqueued(http: httpx2.AsyncClient, **body: object) -> dict[str, Any]:
    answer = await http.post("/api/tasks", json={"handler": "import_orders", **body})
    assert answer.status_code == 201, answer.text
    task: dict[str, Any] = (await http.get(answer.headers["Location"])).json()
    return task


async def test_field_alias_is_stored_in_the_payload_and_shown(http: httpx2.AsyncClient) -> None:
    task = await enqueued(http, customer_id=7, region="eu", state_code=None)

    assert task["payload"] == {"tenant": 7}
    assert (task["customer_id"], task["state_code"], task["region"]) == (7, None, "eu")
    assert "second_names" not in task


async def test_request_with_only_a_role_accepts_and_validates_field_aliases(http: httpx2.AsyncClient) -> None:
    stored = await http.post("/api/tasks", json={"role": "import_orders", "customer_id": 7})
    refused = await http.post("/api/tasks", json={"role": "import_orders", "customer_id": "seven"})

    assert (stored.status_code, refused.status_code) == (201, 422)


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({"customer_id": 7, "payload": {"tenant": 8}}, "customer_id"),
        ({"region": "us", "payload": {"tenant": 8}}, "region"),
        ({"region": ["eu"], "payload": {"tenant": 8}}, "region"),
        ({"nonsense": 1, "payload": {"tenant": 8}}, "nonsense"),
        ({"max_attempts": 3, "max_retries": 3, "payload": {"tenant": 8}}, "max_retries"),
    ],
)
async def test_conflicting_or_unknown_field_is_rejected_by_name(
    http: httpx2.AsyncClient, body: dict[str, Any], word: str
) -> None:
    answer = await http.post("/api/tasks", json={"handler": "import_orders", **body})

    assert answer.status_code == 422
    assert word in answer.json()["detail"]


async def test_alias_and_field_can_have_the_same_value(http: httpx2.AsyncClient) -> None:
    task = await enqueued(http, customer_id=7, payload={"tenant": 7}, max_attempts=4, max_retries=3)

    assert (task["payload"], task["max_attempts"], task["max_retries"]) == ({"tenant": 7}, 4, 3)


async def test_zero_retries_mean_one_attempt(http: httpx2.AsyncClient) -> None:
    task = await enqueued(http, customer_id=7, max_retries=0)

    assert (task["max_attempts"], task["max_retries"]) == (1, 0)


async def test_lists_can_be_filtered_by_a_key_alias_and_show_it(http: httpx2.AsyncClient) -> None:
    await enqueued(http, customer_id=7, key="tenant:7")

    listed = (await http.get("/api/tasks?customer_id=7&region=eu")).json()["items"]

    assert [(task["customer_id"], task["key"], task["region"]) for task in listed] == [(7, "tenant:7", "eu")]


@pytest.mark.parametrize(
    "query", ["state_code=AZ", "region=us", "customer_id=7&key=tenant:8", "customer_id=7&customer_id=8", "nonsense=1"]
)
async def test_list_with_an_unsupported_filter_is_rejected(http: httpx2.AsyncClient, query: str) -> None:
    assert (await http.get(f"/api/tasks?{query}")).status_code == 422


async def test_tasks_are_cancelled_in_bulk_by_a_field_alias(http: httpx2.AsyncClient) -> None:
    task = await enqueued(http, customer_id=7, key="tenant:7")

    outcome = (await http.post("/api/tasks/cancel", json={"filter": {"customer_id": 7}})).json()
    refused = await http.post("/api/tasks/cancel", json={"filter": {"nonsense": 7}})

    assert (outcome["ids"], outcome["outcomes"]) == ([task["id"]], {"cancelled": 1})
    assert refused.status_code == 422


async def test_worker_is_identified_by_its_number_or_its_name(http: httpx2.AsyncClient, database: str) -> None:
    async with await connect_async(database, "test") as connection:
        register = "select rolecall.register_worker('import-1', '{import_orders}', '{import_orders}', 1, 'h', 1, '0')"
        row = await (await connection.execute(register)).fetchone()
        assert row is not None
        claim = "select id from rolecall.claim(%s, '{import_orders}', '{import_orders}', 1, 1)"
        await connection.execute(claim, row)

    found = [(await http.get(f"/api/tasks?worker_id={name}")).json()["items"] for name in ("import-1", row[0])]

    assert [[task["worker_id"] for task in tasks] for tasks in found] == [[row[0]], [row[0]]]


async def test_no_task_is_found_by_the_name_of_an_unknown_worker(http: httpx2.AsyncClient) -> None:
    await enqueued(http, customer_id=7)

    assert (await http.get("/api/tasks?worker_id=gone-1")).json()["items"] == []


async def test_bulk_cancel_by_the_name_of_an_unknown_worker_changes_nothing(http: httpx2.AsyncClient) -> None:
    await enqueued(http, customer_id=7)

    assert (await http.post("/api/tasks/cancel", json={"filter": {"worker_id": "gone-1"}})).json()["ids"] == []


async def test_ambiguous_worker_is_rejected(http: httpx2.AsyncClient) -> None:
    assert (await http.get("/api/tasks?worker=1&worker_id=2")).status_code == 422


async def test_schedule_accepts_interval_hours_and_field_aliases(http: httpx2.AsyncClient) -> None:
    body = {"name": "az", "handler": "import_orders", "interval_hours": 6, "customer_id": 7, "state_code": "AZ"}

    made = (await http.post("/api/schedules", json=body)).json()

    assert (made["every"], made["interval_hours"], made["payload"]) == (21600, 6, {"tenant": 7, "state": "AZ"})
    assert (made["customer_id"], made["state_code"], made["region"]) == (7, "AZ", "eu")
    assert (await http.get("/api/schedules")).json()["items"] == [made]


async def test_one_field_of_a_schedules_payload_can_be_changed_alone(http: httpx2.AsyncClient) -> None:
    body = {"name": "az", "handler": "import_orders", "interval_hours": 6, "customer_id": 7, "state_code": "AZ"}
    path = f"/api/schedules/{(await http.post('/api/schedules', json=body)).json()['id']}"

    other = (await http.put(path, json={"state_code": "CA", "interval_hours": 12})).json()
    without = (await http.put(path, json={"state_code": None})).json()

    assert (other["payload"], other["every"]) == ({"tenant": 7, "state": "CA"}, 43200)
    assert without["payload"] == {"tenant": 7}


@pytest.mark.parametrize("change", [{"every": 60, "interval_hours": 6}, {"interval_hours": 0}, {"nonsense": 1}])
async def test_contradictory_schedule_change_is_rejected(http: httpx2.AsyncClient, change: dict[str, Any]) -> None:
    body = {"name": "az", "handler": "import_orders", "interval_hours": 6, "customer_id": 7}
    path = f"/api/schedules/{(await http.post('/api/schedules', json=body)).json()['id']}"

    assert (await http.put(path, json=change)).status_code == 422


async def test_cron_schedule_has_no_interval_hours(http: httpx2.AsyncClient) -> None:
    body = {"name": "az", "handler": "import_orders", "cron": "0 3 * * *", "customer_id": 7}

    assert (await http.post("/api/schedules", json=body)).json()["interval_hours"] is None


async def test_openapi_document_contains_the_field_aliases(http: httpx2.AsyncClient) -> None:
    document = (await http.get("/openapi.json")).json()

    schemas = document["components"]["schemas"]
    for name in ("TaskRequest", "ListedTask", "ShownTask", "ShownSchedule", "ScheduleChanges", "BodyFilter"):
        assert {"customer_id", "state_code", "region"} <= schemas[name]["properties"].keys(), name
    assert schemas["TaskRequest"]["additionalProperties"] is False
    parameters = {each["name"] for each in document["paths"]["/api/tasks"]["get"]["parameters"]}
    assert {"customer_id", "region", "worker_id"} <= parameters
    assert "x-second-names" not in str(document)


@pytest.mark.parametrize("name", ["priority", "chain_id", "every", "cursor"])
def test_built_in_field_name_cannot_be_a_field_alias(name: str) -> None:
    app = App("test")
    app.alias(name, "tenant")

    with pytest.raises(InvalidDeclaration, match=f"'{name}'"):
        build("postgresql://", app)
