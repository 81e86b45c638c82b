from __future__ import annotations

from collections.abc import Iterator

import pytest

from rolecall.db.connect import connect
from tests.worker.bench import Bench


@pytest.fixture
def bench(database: str) -> Iterator[Bench]:
    with connect(database, "bench") as connection:
        yield Bench(database, connection)
