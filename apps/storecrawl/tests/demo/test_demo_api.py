"""The demo's API: a separate process that serves the announced address as long as the demo runs."""

from __future__ import annotations

import re
from typing import Any

import httpx2

from .conftest import DemoFolder, eventually

ADDRESS = re.compile(r"the dashboard: (http://127\.0\.0\.1:\d+)(/enter\?token=(rl_\S+))")
SMALL = ("--stores", "2", "--step-seconds", "60", "--processes", "1")


def test_the_api_answers_where_the_demo_says_and_comes_back_when_it_is_killed(demo: DemoFolder) -> None:
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


def test_without_it_nothing_is_served(demo: DemoFolder) -> None:
    outcome = demo.run("--once", "--json", "--stores", "1", "--no-api")

    assert (outcome.code, outcome.summary["api"]) == (0, None)
    assert not (demo.data / "api.log").exists()


def _items(api: httpx2.Client, path: str) -> list[dict[str, Any]]:
    try:
        answer = api.get(path)
    except httpx2.TransportError:
        return []
    return list(answer.json()["items"]) if answer.status_code == httpx2.codes.OK else []
