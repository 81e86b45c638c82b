"""Webhooks: published changes reach their receivers, signed and in batches; checks raise alarms."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import psycopg
import pytest
from standardwebhooks import Webhook as Verifier
from storecrawl.catalog import ChangeFilter, ChangeKind, NewWebhook, add_webhook, apply_menu, read_changes
from storecrawl.catalog.normalize import normalize

from rolecall import App, Client, NewTask
from rolecall.testing import Clock, drain
from rolecall.webhooks import new_secret
from tests.receivers import Receiver, receiving

pytestmark = pytest.mark.usefixtures("direct_route")

START = datetime(2026, 5, 1, tzinfo=UTC)
SECRET = new_secret()
BRANDS = {"a": {"brandName": "Kite"}, "b": {"brandName": "Wana"}, "c": {"brandName": "Kite"}}

Run = Callable[[str], Awaitable[None]]


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as running:
        yield running


@pytest.fixture
def run(app: App, database: str, clock: Clock) -> Run:
    """Run a task, and all that follow from it."""

    async def run_one(handler: str) -> None:
        with Client(database, app=app) as client:
            client.enqueue(NewTask(handler=handler))
        await drain(app, database, clock=clock)

    return run_one


@pytest.fixture
def new_prices(database: str, shop: Any, make_document: Any) -> Callable[..., Awaitable[None]]:
    """Add a store whose second menu has new prices for its three products, and a webhook before it."""

    async def change(**webhook: Any) -> None:
        store = shop.store()
        async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
            await add_webhook(connection, NewWebhook(secret=SECRET, **webhook))
            for hour, price in enumerate((20, 7)):
                document = make_document(**{key: {**brand, "recPrices": [price]} for key, brand in BRANDS.items()})
                payload = shop.payload(store, document, hour)
                async with connection.transaction():
                    await apply_menu(connection, payload, store, START + timedelta(hours=hour), normalize(document))

    return change


async def test_receiver_that_fails_twice_gets_all_changes_signed(
    receiver: Receiver, run: Run, new_prices: Callable[..., Awaitable[None]]
) -> None:
    receiver.statuses = [503, 500]
    await new_prices(url=receiver.url, at_once=2)

    await run("collect_changes")

    bodies = [Verifier(SECRET).verify(body, headers) for headers, body in receiver.posts]
    positions = [[change["position"] for change in body["data"]["changes"]] for body in bodies]
    assert sorted(positions) == [[1, 2], [1, 2], [3], [3]]
    assert len({headers["webhook-id"] for headers, _ in receiver.posts}) == 2
    first = bodies[0]["data"]["changes"][0]
    assert (first["kind"], first["old"], first["new"]) == (
        "price_changed",
        {"price_rec_cents": 2000},
        {"price_rec_cents": 700},
    )


async def test_webhook_gets_only_the_changes_of_its_filters(
    receiver: Receiver, run: Run, new_prices: Callable[..., Awaitable[None]]
) -> None:
    await new_prices(url=receiver.url, kinds=[ChangeKind.PRICE_CHANGED, ChangeKind.STORE_DARK], brands=["KITE"])

    await run("collect_changes")

    [(_, body)] = receiver.posts
    assert [change["brand"] for change in msgspec.json.decode(body)["data"]["changes"]] == ["Kite", "Kite"]


async def test_check_raises_one_alarm_and_one_at_its_end(
    database: str, run: Run, shop: Any, connection: psycopg.Connection[Any]
) -> None:
    shop.block(shop.store(), "HTTP 403")
    await run("watch_quality")
    await run("watch_quality")
    connection.execute("delete from storecrawl.blocked_stores")
    await run("watch_quality")
    await run("collect_changes")

    async with await psycopg.AsyncConnection.connect(database) as reading:
        changes = (await read_changes(reading, ChangeFilter(kinds=[ChangeKind.QUALITY_ALARM]))).items

    alarms = [(change.new or {}) for change in changes if (change.new or {})["check"] == "blocked_stores"]
    assert [alarm["severity"] for alarm in alarms] == ["trouble", "ok"]
    assert "1 of 1 stores are blocked" in alarms[0]["problem"]
