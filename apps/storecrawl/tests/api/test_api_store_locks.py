"""One task of a store runs at a time, whichever interface created it."""

from __future__ import annotations

from typing import Any

import httpx2
import psycopg
import pytest
from storecrawl.roles.crawler import STORE_KEY

from rolecall import App

CLAIM = """
select claimed.key from rolecall.claim(
    rolecall.register_worker('w', '{}', %(handlers)s, 100, 'host', 1, '0'), '{}', %(handlers)s, 100, null
) as claimed
"""


def test_every_handler_of_a_store_uses_the_key_of_that_store(app: App) -> None:
    of_stores = {name: each.settings.key for name, each in app.handlers.items() if "store_id" in each.signature.fields}

    assert of_stores.pop("image_fetch") == "images:{store_id}", "images are fetched in parallel to the menus"
    assert of_stores.pop("renormalize") is None, "its children have the keys of their stores"
    assert of_stores == dict.fromkeys(
        (
            "entry_point_discovery",
            "payload_fetch",
            "product_discovery",
            "product_refresh",
            "product_resync",
            "renormalize_store",
        ),
        STORE_KEY,
    )


@pytest.mark.usefixtures("direct_route")
async def test_only_one_task_of_a_store_is_claimed_without_an_explicit_key(
    http: httpx2.AsyncClient, shop: Any, app: App, connection: psycopg.Connection[Any]
) -> None:
    store, other = shop.stores(2)
    for role in ("payload_fetch", "product_discovery", "product_resync"):
        for _ in range(2):
            await create_task(http, "/api/tasks", {"role": role, "payload": {"store_id": store}})
        await create_task(http, "/api/job-queue/enqueue", {"store_id": store, "role": role})
    await create_task(http, "/api/tasks", {"role": "product_refresh", "payload": {"payload_id": 1, "store_id": store}})
    await create_task(
        http, "/api/tasks", {"role": "entry_point_discovery", "payload": {"entry": "some-store", "store_id": store}}
    )
    connection.execute("select rolecall.enqueue('payload_fetch', jsonb_build_object('store_id', %s::bigint))", (store,))
    await create_task(http, "/api/tasks", {"role": "payload_fetch", "payload": {"store_id": other}})

    claimed = connection.execute(CLAIM, {"handlers": list(app.handlers)}).fetchall()

    stores = [f"store:{store}", f"store:{other}"]
    assert sorted(key for (key,) in claimed if key.startswith("store:")) == stores
    keys = connection.execute("select distinct key from rolecall.all_tasks where payload ? 'store_id' order by key")
    assert [key for (key,) in keys] == stores


async def create_task(http: httpx2.AsyncClient, path: str, body: dict[str, object]) -> None:
    answer = await http.post(path, json=body)
    assert answer.status_code == 201, answer.text
