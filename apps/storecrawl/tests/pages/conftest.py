"""A shop whose texts try to break the pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import psycopg
import pytest

from .hostile import hostile_paths


@pytest.fixture
def open_hostile_shop(
    connection: psycopg.Connection[Any], shop: Any, apply: Callable[..., Awaitable[int]]
) -> Callable[[], Awaitable[list[str]]]:

    def first_of(table: str) -> int:
        row = connection.execute(f"select min(id) from storecrawl.{table}".encode()).fetchone()
        assert row is not None
        return int(row[0])

    return partial(hostile_paths, shop, apply, first_of)
