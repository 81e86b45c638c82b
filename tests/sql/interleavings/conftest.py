from __future__ import annotations

import pytest

from tests.sql.conftest import Session
from tests.sql.engine import Engine
from tests.sql.interleavings.stage import Stage


@pytest.fixture
def stage(engine: Engine, session: Session) -> Stage:
    """Runs plays on this test's database."""
    return Stage(engine, session)
