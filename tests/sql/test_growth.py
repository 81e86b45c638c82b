"""What a claim and a finish cost does not grow with what the pool holds; bench/growth.py measures beyond what a test can fill."""

from __future__ import annotations

import pytest

from tests.sql.engine import Engine
from tests.sql.growth import costs, fill

# Of lines without work tests/sql/test_many_lines.py tells. Few are enough that the trees of the indexes are as high as those of many: they grow a level with each factor of 300.
FEW = {"finished": 2_000, "pending": 2_000, "keys": 2_000, "parked": 2_000, "lines": 500}
TIMES = 10
# Of twenty tasks: one index a level higher costs each a buffer or two.
MARGIN, BESIDE = 1.15, 60


@pytest.mark.parametrize("kind", FEW)
def test_many_cost_a_claim_and_a_finish_what_few_cost(live_engine: Engine, kind: str) -> None:
    live_engine.rows("alter table rolecall.tasks set (autovacuum_enabled = off)")
    keyed = kind in {"keys", "parked"}
    fill(live_engine, kind, FEW[kind])
    few = costs(live_engine, keyed=keyed)

    fill(live_engine, kind, FEW[kind] * TIMES)
    many = costs(live_engine, keyed=keyed)

    assert [after <= before * MARGIN + BESIDE for before, after in zip(few, many, strict=True)] == [True, True], (
        few,
        many,
    )
