"""The cost of claim and finish does not grow with the pool. bench/growth.py measures larger pools."""

from __future__ import annotations

import pytest

from tests.sql.engine import Engine
from tests.sql.growth import costs, fill

# tests/sql/test_many_lines.py covers lines without tasks. The small numbers are chosen so that the index
# trees are as high as with the large ones; a tree grows by a level with each factor of 300.
FEW = {"finished": 2_000, "pending": 2_000, "keys": 2_000, "parked": 2_000, "lines": 500}
TIMES = 10
# For twenty tasks: an index with one more level costs each a buffer or two.
MARGIN, BESIDE = 1.15, 60


@pytest.mark.parametrize("kind", FEW)
def test_cost_of_claim_and_finish_does_not_grow_with_the_pool(live_engine: Engine, kind: str) -> None:
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
