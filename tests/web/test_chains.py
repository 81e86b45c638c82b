"""Chains are listed, awaited, completed and deleted over HTTP."""

from __future__ import annotations

import httpx2
import pytest

from tests.web.test_tasks import enqueue, get


async def test_chains_are_listed_in_pages(http: httpx2.AsyncClient) -> None:
    ids = [await enqueue(http) for _ in range(3)]

    first = await get(http, "/api/chains?limit=2")
    second = await get(http, f"/api/chains?limit=2&cursor={first['next_cursor']}")

    assert [chain["id"] for chain in first["items"] + second["items"]] == ids[::-1]
    assert second["next_cursor"] is None
    assert "payload" not in first["items"][0]


async def test_chains_are_listed_by_state(http: httpx2.AsyncClient) -> None:
    done, still_open = await enqueue(http), await enqueue(http)
    await http.post(f"/api/chains/{done}/complete", json={"result": 3})

    assert [chain["id"] for chain in (await get(http, "/api/chains?state=open"))["items"]] == [still_open]
    assert [chain["id"] for chain in (await get(http, "/api/chains?state=completed"))["items"]] == [done]


async def test_chain_is_shown_with_its_tasks(http: httpx2.AsyncClient) -> None:
    chain_id = await enqueue(http)

    chain = await get(http, f"/api/chains/{chain_id}")

    assert (chain["payload"], chain["length"]) == ({"a": 1, "b": 2}, 1)
    assert [task["id"] for task in chain["tasks"]] == [chain_id]


async def test_chain_is_completed_only_once(http: httpx2.AsyncClient) -> None:
    path = f"/api/chains/{await enqueue(http)}"

    done = await http.post(f"{path}/complete", json={"result": {"sum": 3}})
    again = await http.post(f"{path}/complete")

    assert (done.status_code, done.json()["outcome"]) == (200, "completed")
    assert (again.status_code, again.json()["type"]) == (409, "urn:rolecall:chain-finished")
    assert (await get(http, path))["result"] == {"sum": 3}


async def test_client_can_wait_for_a_chain(http: httpx2.AsyncClient) -> None:
    path = f"/api/chains/{await enqueue(http)}"
    early = await get(http, f"{path}/wait?seconds=0.02")
    await http.post(f"{path}/complete")

    assert early["open"] is True
    assert (await get(http, f"{path}/wait?seconds=20"))["state"] == "completed"


async def test_tasks_that_need_a_chain_are_listed(http: httpx2.AsyncClient) -> None:
    chain_id = await enqueue(http)
    waiting = [await enqueue(http, needs=[{"chain": chain_id}]) for _ in range(2)]

    first = await get(http, f"/api/chains/{chain_id}/blocking?limit=1")
    second = await get(http, f"/api/chains/{chain_id}/blocking?cursor={first['next_cursor']}")

    assert [task["task_id"] for task in first["items"] + second["items"]] == waiting


async def test_chain_is_deleted_with_its_needs_if_cascade_is_set(http: httpx2.AsyncClient) -> None:
    """Covers DELETE /api/chains/{id}?cascade=true, 404 and 409."""
    needed = await enqueue(http)
    chain_id = await enqueue(http, needs=[needed])

    refused = await http.delete(f"/api/chains/{needed}")
    gone = await http.delete(f"/api/chains/{chain_id}?cascade=true")
    again = await http.delete(f"/api/chains/{chain_id}")

    assert (refused.status_code, refused.json()["type"]) == (409, "urn:rolecall:chain-needed")
    assert gone.json() == {"deleted": [{"id": needed, "tasks": 1}, {"id": chain_id, "tasks": 1}]}
    assert (again.status_code, again.json()["type"]) == (404, "urn:rolecall:chain-not-found")


@pytest.mark.parametrize("part", ["", "/blocking", "/wait?seconds=0"])
async def test_missing_chain_is_not_found(http: httpx2.AsyncClient, part: str) -> None:
    answer = await http.get(f"/api/chains/4711{part}")

    assert (answer.status_code, answer.json()["type"]) == (404, "urn:rolecall:chain-not-found")
