"""Many viewers share one answer. Its age is limited by the cost of the query."""

from __future__ import annotations

import asyncio

import pytest

from rolecall.model.errors import DatabaseUnavailable
from rolecall.service.shared import LONGEST, RECOVERY, SHARE, SharedResult

SECONDS = 2.0
DEAR = 10 * SECONDS * SHARE


class Database:
    """Answers with the number of queries so far. Each answer takes a given time on its own clock."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.queries = 0
        self.takes = 0.0
        self.is_away = False

    def clock(self) -> float:
        """Return the time of the simulated clock."""
        return self.now

    async def ask(self) -> int:
        """Answer after the given time."""
        self.queries += 1
        self.now += self.takes
        await asyncio.sleep(0)
        if self.is_away:
            raise DatabaseUnavailable("it is away")
        return self.queries


@pytest.fixture
def database() -> Database:
    return Database()


@pytest.fixture
def shared(database: Database) -> SharedResult[int]:
    return SharedResult(database.ask, seconds=SECONDS, clock=database.clock)


async def cached_seconds(shared: SharedResult[int], database: Database) -> float:
    """Ask every second until the answer changes; return the seconds."""
    first, began = await shared.get(), database.now
    while await shared.get() == first:
        database.now += 1
    return database.now - began


async def test_call_within_the_cache_time_returns_the_same_value(shared: SharedResult[int], database: Database) -> None:
    assert [await shared.get(), await shared.get()] == [1, 1]
    database.now += SECONDS
    assert await shared.get() == 2


async def test_simultaneous_callers_share_one_query(shared: SharedResult[int], database: Database) -> None:
    assert await asyncio.gather(*(shared.get() for _ in range(10))) == [1] * 10


async def test_repeatedly_expensive_value_is_cached_longer(shared: SharedResult[int], database: Database) -> None:
    database.takes = DEAR

    assert [await cached_seconds(shared, database) for _ in range(4)] == pytest.approx([2, 2, 20, 20], abs=0.1)


async def test_single_slow_query_among_cheap_ones_does_not_extend_the_cache_time(
    shared: SharedResult[int], database: Database
) -> None:
    for _ in range(5):
        await cached_seconds(shared, database)
    database.takes = DEAR
    await cached_seconds(shared, database)
    database.takes = 0.0

    assert await cached_seconds(shared, database) == pytest.approx(SECONDS, abs=0.1)


async def test_value_is_cached_for_at_most_a_minute(shared: SharedResult[int], database: Database) -> None:
    database.takes = LONGEST
    for _ in range(2):
        await cached_seconds(shared, database)

    assert await cached_seconds(shared, database) == pytest.approx(2 * LONGEST, abs=1)


async def test_required_value_raises_while_the_database_is_unavailable(
    shared: SharedResult[int], database: Database
) -> None:
    database.is_away = True

    with pytest.raises(DatabaseUnavailable):
        await shared.get()


async def test_optional_value_stays_cached_while_the_database_is_unavailable(
    shared: SharedResult[int], database: Database
) -> None:
    assert await shared.peek() == 1
    database.is_away = True
    database.now += SECONDS

    assert await shared.peek() == 1


async def test_unavailable_database_is_not_queried_by_every_caller(
    shared: SharedResult[int], database: Database
) -> None:
    database.is_away = True
    assert [await shared.peek() for _ in range(3)] == [None] * 3
    assert database.queries == 1

    database.is_away = False
    database.now += SECONDS + RECOVERY
    assert await shared.peek() == 2


async def test_caller_waits_no_longer_than_its_patience(database: Database) -> None:
    answered = asyncio.Event()

    async def ask() -> int:
        await answered.wait()
        return await database.ask()

    shared = SharedResult(ask, seconds=SECONDS, patience=0.01)
    assert await shared.peek() is None
    answered.set()
    assert await shared.get() == 1
