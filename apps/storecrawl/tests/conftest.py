"""A test's database has the crawler's tables beside Rolecall's."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from storecrawl.schema import MIGRATIONS

from rolecall import Migrations
from rolecall.db.migrations import ROLECALL


@pytest.fixture(scope="session")
def migrations() -> Sequence[Migrations]:
    return (ROLECALL, MIGRATIONS)
