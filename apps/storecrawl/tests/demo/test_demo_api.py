"""The demo's API: a separate process that serves the announced address as long as the demo runs."""

from __future__ import annotations

import re
from typing import Any

import httpx2

from .conftest import DemoFolder, eventually

ADDRESS = re.compile(r"dashboard: (http://127\.0\.0\.1:\d+)(/enter\?token=(rl_\S+))")
SMALL = ("--stores", "2", "--step-seconds", "60", "--processes", "1")


def test_api_responds_at_the_printed_address_and_restarts_after_a_kill(demo: DemoFolder) -> None:
    process = demo.start(*SMALL)
    assert process.stdout is not None
    found = next(found for line in process.stdout if (found := ADDRESS.search(line)))
    assert (demo.data / "local-token").read_text().strip() == found[3]

    with httpx2.Client(base_url=found[1], headers={"authorization": f"Bearer {found[3]}"}, timeout=60) as api:
        eventually(lambda: len(_items(api, "/api/payloads")) >= 2)
        demo.kill("api")
        store = eventually(lambda: _items(api, "/api/stores"))[0]["id"]
        query = api.get(f"/api/payloads/store/{store}/query?limit=1").json()
    assert query["total"] >= len(query["items"]) == 1

    process.terminate()
    assert demo.end().code == 0
    demo.expect_nothing_left()


def test_demo_with_no_api_serves_nothing(demo: DemoFolder, database: str) -> None:
    outcome = demo.run("--once", "--json", "--stores", "1", "--processes", "1", "--no-api", DATABASE_URL=database)

    assert (outcome.code, outcome.summary["api"]) == (0, None)
    assert not (demo.data / "api.log").exists()


def _items(api: httpx2.Client, path: str) -> list[dict[str, Any]]:
    try:
        answer = api.get(path)
    except httpx2.TransportError:
        return []
    return list(answer.json()["items"]) if answer.status_code == httpx2.codes.OK else []
