from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from rolecall.transport.brokers import RedisLink, connect_redis
from tests.brokers import Broker, redis
from tests.worker.conftest import bench

__all__ = ["bench", "server"]


@pytest.fixture(scope="module")
def server() -> Iterator[Broker]:
    """A Redis for the tests of a module. Each test empties it first."""
    with redis() as broker:
        yield broker


@pytest.fixture
async def link(server: Broker) -> AsyncIterator[RedisLink]:
    """A connection to the module's Redis, which is empty."""
    link = connect_redis(server.url)
    await link.call("FLUSHALL")
    yield link
    await link.close()
