"""The OpenAPI document of the server that the crawler is mounted in."""

from __future__ import annotations

import httpx2

PATHS = {
    "/api/stores": "get",
    "/api/stores/{store_id}": "get",
    "/api/payloads": "get",
    "/api/payloads/{payload_id}": "get",
    "/api/payloads/{payload_id}/data": "get",
    "/api/payloads/{payload_id}/replay": "post",
    "/api/payloads/store/{store_id}": "get",
    "/api/payloads/store/{store_id}/latest": "get",
    "/api/payloads/store/{store_id}/diff": "get",
    "/api/payloads/store/{store_id}/query": "get",
    "/api/payloads/store/{store_id}/aggregate": "get",
    "/api/discovery/states": "get",
    "/api/discovery/cities": "get",
    "/api/discovery/platforms/{platform}/locations": "get",
    "/api/discovery/platforms/{platform}/locations/{location_id}": "get",
    "/api/discovery/platforms/{platform}/locations/{location_id}/verify-create": "post",
    "/api/discovery/platforms/{platform}/locations/{location_id}/verify-link": "post",
    "/api/discovery/platforms/{platform}/locations/{location_id}/reject": "post",
    "/api/discovery/platforms/{platform}/locations/{location_id}/unreject": "post",
    "/api/tasks/generate/resync": "post",
    "/api/tasks/generate/discovery": "post",
    "/api/job-queue/enqueue": "post",
    "/api/job-queue/enqueue-batch": "post",
    "/api/job-queue/enqueue-state": "post",
    "/api/tasks/batch/staggered": "post",
    "/api/tasks/batch/{state}-stores": "post",
}


async def test_openapi_document_contains_every_crawler_route(http: httpx2.AsyncClient) -> None:
    paths = (await http.get("/openapi.json")).json()["paths"]

    assert {path: next(iter(paths.get(path, [None]))) for path in PATHS} == PATHS
    assert "application/json" in paths["/api/payloads/{payload_id}/data"]["get"]["responses"]["200"]["content"]
