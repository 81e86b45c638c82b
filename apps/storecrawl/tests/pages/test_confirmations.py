"""Forms of the crawler ask for confirmation on the server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from tests.dashboard.reading import read
from tests.web.matrix import read_table

CHANGES = [entry.path for entry in read_table(Path(__file__).with_name("routes.txt")) if entry.method == "POST"]
# Forms whose effect is no larger than that of a schedule, or that undo something.
AT_ONCE = {"/discovery/search", "/stores/{store_id:int}/fetch", "/routes/{route_id:int}/enable"}
STATE = """
select
    (select jsonb_agg(route order by id) from storecrawl.routes as route),
    (select jsonb_agg(location order by id) from storecrawl.locations as location),
    (select jsonb_agg(store order by id) from storecrawl.stores as store),
    (select count(*) from rolecall.tasks)
"""


@pytest.mark.parametrize("path", sorted(set(CHANGES) - AT_ONCE))
async def test_unconfirmed_form_changes_nothing_and_asks_for_confirmation(
    http: httpx2.AsyncClient, shop: Any, connection: psycopg.Connection[Any], path: str
) -> None:
    rejected = {"status": "rejected", "because": "a warehouse", "decided_by": "ada", "decided_at": "now"}
    store = shop.store()
    ids = {
        "{payload_id:int}": shop.payload(store, {"a": 1}),
        "{route_id:int}": (await http.post("/api/routes", json={"protocol": "direct"})).json()["id"],
        "{location_id:int}": shop.location(**rejected if path.endswith("/unreject") else {}),
    }
    for name, number in ids.items():
        path = path.replace(name, str(number))
    before = connection.execute(STATE).fetchone()

    answer = await http.post(path, data={"store_id": str(store), "because": "it is so"})

    assert answer.status_code == 200
    assert read(answer.text).one("form", id="question").one("input", name="confirmed")["value"] == "true"
    assert connection.execute(STATE).fetchone() == before
