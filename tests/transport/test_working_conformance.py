"""Workers work with every transport, and without one."""

from __future__ import annotations

import pytest

from rolecall.testing.notifications import Case, hold
from rolecall.testing.notifications.working import CASES
from tests.transport.grounds import KINDS, ground_of


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
async def test_transport_wakes_workers(case: Case, kind: str, database: str) -> None:
    async with ground_of(kind, database) as ground:
        await hold(case, ground)
