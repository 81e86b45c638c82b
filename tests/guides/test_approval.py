"""The guide `approval` works as described."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from rolecall import Client, TaskState
from rolecall.testing import Clock, drain
from tests.guides.blocks import blocks
from tests.guides.reading import module_of

TOO_LATE = "This has been decided already, or it is too late."


class Shop:
    """The guide's code, on a database whose clock the test moves."""

    def __init__(self, database: str, clock: Clock) -> None:
        self.code = module_of("approval")
        self.database = database
        self.clock = clock

    def call(self, name: str, *words: object, **options: object) -> Any:
        """Call a function of the guide with a client that sees the clock as it is now."""
        with Client(self.database, app=self.code.app) as client:
            return getattr(self.code, name)(client, *words, **options)

    async def result(self, task_id: int, *, after_minutes: float = 0) -> Any:
        """Let time pass and workers work; return what a task came to."""
        self.clock.advance(minutes=after_minutes)
        await drain(self.code.app, self.database)
        with Client(self.database) as client:
            return client.get(task_id).result


@pytest.fixture
def shop(database: str, clock: Clock) -> Shop:
    clock.set(clock.now())
    return Shop(database, clock)


async def test_order_without_a_decision_is_declined(shop: Shop) -> None:
    _, settled, token = shop.call("ask", 7, 100)

    assert await shop.result(settled, after_minutes=119) is None
    assert await shop.result(settled, after_minutes=2) == "order 7 is declined by nobody"
    assert shop.call("clicked", token, approved=True, by="ann") == TOO_LATE


@pytest.mark.parametrize(
    ("approved", "outcome"), [(True, "order 7 is on its way"), (False, "order 7 is declined by ann")]
)
async def test_click_decides_earlier(shop: Shop, *, approved: bool, outcome: str) -> None:
    approval, settled, token = shop.call("ask", 7, 100)

    assert shop.call("clicked", token, approved=approved, by="ann") == "Thank you."

    assert await shop.result(settled, after_minutes=1) == outcome
    assert await shop.result(approval, after_minutes=180) == {"approved": approved, "by": "ann"}


async def test_second_click_changes_nothing(shop: Shop) -> None:
    approval, _, token = shop.call("ask", 7, 100)
    shop.call("clicked", token, approved=True, by="ann")

    assert shop.call("clicked", token, approved=False, by="bob") == TOO_LATE
    assert await shop.result(approval) == {"approved": True, "by": "ann"}


async def test_clerk_can_approve_within_the_limit(shop: Shop) -> None:
    approval, settled, _ = shop.call("ask", 7, 100)

    assert shop.call("approve", approval, "cleo", limit=99) == "above your limit"
    assert shop.call("approve", approval, "cleo", limit=100) == "approved"
    assert shop.call("approve", approval, "dan", limit=100) == "decided already"

    assert await shop.result(settled) == "order 7 is on its way"


async def test_trigger_declines_the_order_immediately(shop: Shop) -> None:
    approval, settled, _ = shop.call("ask", 7, 100)
    with Client(shop.database) as client:
        client.trigger(approval)

    assert await shop.result(settled) == "order 7 is declined by nobody"


async def test_sql_version_behaves_the_same(shop: Shop, connection: psycopg.Connection[Any]) -> None:
    approval, settled, _ = shop.call("ask", 7, 100)
    [query] = blocks("approval.md", "sql")

    connection.execute(query.encode())

    assert await shop.result(settled) == "order 7 is on its way"
    with Client(shop.database) as client:
        assert client.get(approval).state is TaskState.COMPLETED
