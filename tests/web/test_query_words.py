"""Unknown query parameters are rejected instead of ignored."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from fastapi import APIRouter

from rolecall import App
from rolecall.model.operator.access import Scope
from rolecall.web import Reads
from tests.web.doors import Door, opened
from tests.web.matrix import passed_over


async def test_every_api_route_rejects_unknown_query_parameters(door: Door) -> None:
    assert await passed_over(door.application, await door.key(Scope.ADMIN)) == []


async def test_app_route_also_rejects_unknown_query_parameters(database: str) -> None:
    router = APIRouter()

    @router.get("/api/shops")
    async def list_shops(_: Reads, city: str = "") -> list[str]:
        return [city]

    async with opened(database, app=App("test", routers=[router])) as door:
        key = await door.key(Scope.READ)
        known = await door.client.get("/api/shops?city=Mesa", headers=key)
        unknown = await door.client.get("/api/shops?town=Mesa", headers=key)

    assert (known.status_code, known.json()) == (200, ["Mesa"])
    assert (unknown.status_code, unknown.json()["detail"]) == (
        422,
        "query.town: unknown query parameter 'town': it takes city",
    )


@pytest.mark.parametrize("query", ["offset=50", "page=2"])
async def test_pagination_by_number_is_rejected_with_a_hint_to_cursors(http: httpx2.AsyncClient, query: str) -> None:
    answer = await http.get(f"/api/tasks?{query}")

    assert answer.status_code == 422
    assert "to get the next page, pass the `next_cursor` of this one" in answer.json()["detail"]


async def test_all_unknown_query_parameters_are_named_in_one_error(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/api/roles?sort=name&order=asc")

    assert [each["where"] for each in answer.json()["errors"]] == ["query.sort", "query.order"]
    assert "it takes no query" in answer.json()["detail"]


@pytest.mark.parametrize(("identity", "status"), [(None, 401), (Scope.READ, 403), (Scope.ADMIN, 422)])
async def test_unauthorized_caller_does_not_learn_the_parameter_names(
    door: Door, identity: Scope | None, status: int
) -> None:
    headers = await door.key(identity) if identity else {}

    assert (await door.client.get("/api/keys?colour=red", headers=headers)).status_code == status


async def test_request_with_an_unknown_query_parameter_is_not_executed(http: httpx2.AsyncClient) -> None:
    refused = await http.post("/api/tasks?dry_run=true", json={"handler": "add"})

    tasks: dict[str, Any] = (await http.get("/api/tasks")).json()
    assert (refused.status_code, tasks["items"]) == (422, [])
