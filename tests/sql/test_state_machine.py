"""The engine under any sequence of calls: workers that come back late, operators, keys, dedupe keys and a clock that jumps.

Every claim ever handed out stays in the game, so that zombies report, renew and release at any later time.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from tests.sql.engine import LEASE, START, WORK, Claim, Engine, report
from tests.sql.interleavings.stage import RESET
from tests.sql.invariants import check

ROLES = ("work", "other")
WORKERS = (1, 2)
SUITE = settings(
    max_examples=50,
    stateful_step_count=50,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

Verb = Callable[[Engine, Claim], object]


class AnyCalls(RuleBasedStateMachine):
    """Random calls; after each the invariants hold, and in the end everything that is open can be finished."""

    claims: Bundle[Claim] = Bundle("claims")
    ids: Bundle[int] = Bundle("ids")

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self.engine = engine
        self.now = START
        self.fences: dict[int, int] = {}
        self.ended: dict[int, str] = {}
        self.known: set[int] = set()
        self.revived: set[int] = set()
        engine.rows(RESET)
        engine.forget_floors()
        self.pass_time(0)
        engine.declare(*({**WORK, "name": role} for role in ROLES))

    @rule(
        target=ids,
        role=st.sampled_from(ROLES),
        priority=st.sampled_from([0, 0, 5, -5]),
        key=st.sampled_from([None, "a", "a", "b"]),
        dedupe_key=st.sampled_from([None, None, "x"]),
        after=st.sampled_from([0, 0, 0, LEASE]),
        max_attempts=st.sampled_from([0, 1, 2, 3]),
    )
    def enqueue(self, **words: object) -> int:
        task_id = self.engine.enqueue(**words)
        self.known.add(task_id)
        return task_id

    @rule(
        target=claims,
        worker=st.sampled_from(WORKERS),
        limit=st.integers(1, 4),
        start=st.sampled_from([None, 0, 1]),
        roles=st.sampled_from([(), ("work",), ("other", "work")]),
    )
    def claim(self, worker: int, limit: int, start: int | None, roles: tuple[str, ...]) -> Any:
        taken = self.engine.claim(limit, *roles, worker=worker, handlers=ROLES, start=start)
        assert len(taken) <= limit
        assert taken == sorted(taken, key=lambda claim: (-claim.priority, claim.scheduled_for, claim.id))
        for claim in taken:
            assert claim.fence > self.fences.get(claim.id, 0), "a fence was handed out twice"
            self.fences[claim.id] = claim.fence
        return multiple(*taken)

    @rule(claim=claims, outcome=st.sampled_from(["completed", "failed", "snoozed", "cancelled"]), final=st.booleans())
    def finish(self, claim: Claim, outcome: str, final: bool) -> None:
        owned = self.owns(claim)
        follow_ups = [{"role": "other", "key": "a"}] if final else []
        verdict = self.engine.report(claim, outcome, final=final, after=1, error="boom", follow_ups=follow_ups)
        assert (verdict is None) == owned
        if owned:
            assert self.engine.report(claim, outcome, follow_ups=follow_ups) == "already"
        self.known |= {task_id for (task_id,) in self.engine.rows("select id from rolecall.tasks")}

    @rule(several=st.lists(claims, min_size=2, max_size=5), worker=st.sampled_from(WORKERS))
    def finish_together(self, several: list[Claim], worker: int) -> None:
        owned = {claim.id for claim in several if claim.worker_id == worker and self.owns(claim)}
        reports = [report(claim, ("completed", "failed")[claim.id % 2], error="boom") for claim in several]
        verdicts = self.engine.finish(worker, *reports)
        assert set(verdicts) == {claim.id for claim in several} - owned

    @rule(
        claim=claims,
        verb=st.sampled_from(
            [Engine.renew, Engine.release, Engine.start, lambda engine, claim: engine.report_info(claim, {"a": 1})]
        ),
    )
    def touch(self, claim: Claim, verb: Verb) -> None:
        owned = self.owns(claim)
        answer = verb(self.engine, claim)
        assert owned or answer in ({claim.id: reason} for reason in REASONS) or answer in REASONS

    @rule(task_id=ids)
    def cancel(self, task_id: int) -> None:
        assert self.engine.cancel(task_id)[task_id] in {"cancelled", "requested", "finished"}

    @rule(task_id=ids)
    def retry(self, task_id: int) -> None:
        before = self.ended.get(task_id)
        outcome = self.engine.retry(task_id)[task_id]
        assert (outcome == "completed") == (before == "completed")
        if outcome == "pending":
            self.revived.add(task_id)

    @rule(seconds=st.sampled_from([1, 10, LEASE // 2, LEASE + 1, 3600]))
    def pass_time(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)
        self.engine.rows("select set_config('rolecall.fake_now', %s, false)", self.now.isoformat())

    @rule()
    def rescue(self) -> None:
        self.engine.rescue()

    @rule(worker=st.sampled_from(WORKERS))
    def leave(self, worker: int) -> None:
        self.engine.rows("select rolecall.deregister_worker(%s)", worker)

    @rule()
    def prune(self) -> None:
        self.engine.prune()

    @rule()
    def forget_floors(self) -> None:
        """As if the next claim came from a new session."""
        self.engine.forget_floors()

    @invariant()
    def the_rules_hold(self) -> None:
        check(self.engine)

    @invariant()
    def what_has_ended_stays_so(self) -> None:
        """Only an operator's retry opens a task again."""
        ended = dict(self.engine.rows("select id, state::text from rolecall.finished_tasks"))
        reopened = {task_id for task_id, state in self.ended.items() if ended.get(task_id) != state}
        assert reopened <= self.revived
        self.ended = ended
        self.revived.clear()

    def teardown(self) -> None:
        """Nothing is stuck: with one worker and time, every task that was ever stored ends."""
        for _ in range(400):
            if not self.engine.value("select exists (select from rolecall.tasks)"):
                break
            self.pass_time(LEASE + 1)
            self.engine.rescue()
            for claim in self.engine.claim(20, worker=9, handlers=ROLES):
                self.engine.complete(claim)
        assert [task.id for task in self.engine.tasks() if task.finished_at is None] == []
        assert {task.id for task in self.engine.tasks()} == self.known

    def owns(self, claim: Claim) -> bool:
        [owned] = self.engine.rows(
            "select exists (select from rolecall.tasks where (id, fence, worker_id, state) = (%s, %s, %s, 'running'))",
            claim.id,
            claim.fence,
            claim.worker_id,
        )
        return bool(owned[0])


REASONS = ("taken", "completed", "cancelled")


@pytest.mark.timeout(300)
def test_no_sequence_of_calls_breaks_an_invariant(engine: Engine) -> None:
    """Covers invariants 1 to 7, 10 and 11, and SPEC 000-6."""
    run_state_machine_as_test(lambda: AnyCalls(engine), settings=SUITE)
