from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rolecall.db.connect import connect
from rolecall.db.migrations import Migrations
from rolecall.testing import TestServer, clone
from tests.db.shop import Connection, make_shop


@pytest.fixture
def empty(postgres_server: TestServer) -> Iterator[str]:
    with clone(postgres_server, "template1") as dsn:
        yield dsn


@pytest.fixture
def conn(empty: str) -> Iterator[Connection]:
    with connect(empty, "test") as connection:
        yield connection


@pytest.fixture
def shop(tmp_path: Path) -> Migrations:
    return make_shop(tmp_path)
