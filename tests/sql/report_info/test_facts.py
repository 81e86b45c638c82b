"""Info that a running task reports."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.engine import LEASE, Engine


def test_infos_are_merged_and_the_last_value_wins(engine: Engine) -> None:
    engine.enqueue()
    claim = engine.claim_one()

    assert engine.report_info(claim, {"pages": 1, "store": 7}) is None
    assert engine.report_info(claim, {"pages": 2}) is None

    assert engine.task(claim.id).info == {"pages": 2, "store": 7}


def test_info_is_kept_after_a_failed_attempt_and_completion(engine: Engine) -> None:
    task_id = engine.enqueue()
    claim = engine.claim_one()
    engine.report_info(claim, {"pages": 1})
    engine.fail(claim)
    engine.clock.advance(hours=1)

    engine.complete(engine.claim_one())

    assert engine.task(task_id).info == {"pages": 1}


def test_lost_claim_cannot_report_info(engine: Engine) -> None:
    engine.enqueue()
    claim = engine.claim_one()
    engine.clock.advance(seconds=LEASE + 1)
    engine.rescue()

    assert engine.report_info(claim, {"pages": 1}) == "taken"
    assert engine.task(claim.id).info is None


def test_info_after_completion_is_rejected_as_completed(engine: Engine) -> None:
    engine.enqueue()
    claim = engine.claim_one()
    engine.complete(claim)

    assert engine.report_info(claim, {"pages": 1}) == "completed"


@pytest.mark.parametrize("info", [[1], "x", 1, None])
def test_non_object_is_rejected(engine: Engine, info: object) -> None:
    engine.enqueue()

    with pytest.raises(psycopg.Error) as refusal:
        engine.report_info(engine.claim_one(), info)

    assert refusal.value.sqlstate == "RC040"
