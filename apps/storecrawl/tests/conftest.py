"""A test's database has the crawler's tables beside Rolecall's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from storecrawl.schema import MIGRATIONS

from rolecall.db.migrations import ROLECALL
from rolecall.testing import TestServer, template


@pytest.fixture(scope="session")
def database_template(postgres_server: TestServer) -> Iterator[str]:
    """Made here, not by the plugin's fixture: that one may stand already, with Rolecall's tables alone."""
    with template(postgres_server, (ROLECALL, MIGRATIONS)) as name:
        yield name
