"""Random sequences of calls: late workers, operators, keys, dedupe keys, and a clock that jumps.

Every claim is kept, so that workers that lost it finish, renew and release it at any later time.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg
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

from tests.sql.engine import LEASE, START, WORK, Claim, Document, Engine, report
from tests.sql.invariants import check
from tests.sql.reused import ReusedDatabase

ROLES = ("work", "other")
# Not the ids of workers that register: a worker that registers after its claim would not find its finished tasks.
WORKERS = (1_001, 1_002)
DEDUPE = (None, None, {"mode": "merge"}, {"mode": "replace"}, {"scope": "pending"}, {"scope": "any", "window": LEASE})
SUITE = settings(
    max_examples=25,
    stateful_step_count=50,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

Verb = Callable[[Engine, Claim], object]


class AnyCalls(RuleBasedStateMachine):
    """Random calls. The invariants hold after each, and at the end every open task can be finished."""

    claims: Bundle[Claim] = Bundle("claims")
    ids: Bundle[int] = Bundle("ids")

    def __init__(self, engine: Engine, restore: Callable[[], None]) -> None:
        super().__init__()
        restore()
        self.engine = engine
        self.now = START
        self.fences: dict[int, int] = {}
        self.ended: dict[int, str] = {}
        self.known: set[int] = set()
        self.revived: set[int] = set()
        self.pass_time(0)
        engine.declare(*({**WORK, "name": role} for role in ROLES))

    @rule(
        target=ids,
        role=st.sampled_from(ROLES),
        priority=st.sampled_from([0, 0, 5, -5]),
        key=st.sampled_from([None, "a", "a", "b"]),
        dedupe_key=st.sampled_from([None, None, "x"]),
        dedupe=st.sampled_from(DEDUPE),
        after=st.sampled_from([0, 0, 0, LEASE]),
        max_attempts=st.sampled_from([0, 1, 2, 3]),
    )
    def enqueue(self, dedupe: Document | None, **words: object) -> int:
        task_id = self.engine.enqueue(dedupe=dedupe if words["dedupe_key"] else None, **words)
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
        return self.fenced(taken)

    @rule(target=claims, task_id=ids, other=ids, start=st.sampled_from([None, 0, 1]))
    def claim_by_id(self, task_id: int, other: int, start: int | None) -> Any:
        given, verdicts = self.engine.claim_these(task_id, other, start=start)
        assert {claim.id for claim in given} | verdicts.keys() == {task_id, other}
        assert "busy" not in verdicts.values()
        return self.fenced(given)

    @rule(target=claims, number=st.integers(1, 3))
    def claim_what_is_offered(self, number: int) -> Any:
        offered = self.engine.offers(number)
        given, verdicts = self.engine.claim_these(*offered)
        assert set(verdicts.values()) <= {"key busy", "not first"}
        assert bool(given) == bool(offered)
        return self.fenced(given)

    def fenced(self, taken: list[Claim]) -> Any:
        for claim in taken:
            assert claim.fence > self.fences.get(claim.id, 0), "a fence was used twice"
            self.fences[claim.id] = claim.fence
        return multiple(*taken)

    @rule(claim=claims, outcome=st.sampled_from(["completed", "failed", "snoozed", "cancelled"]), final=st.booleans())
    def finish(self, claim: Claim, outcome: str, final: bool) -> None:
        owned = self.owns(claim)
        follow_ups = [{"role": "other", "key": "a"}] if final else []
        verdict = self.engine.report(
            claim, outcome, final=final, after=1, error="boom", next={"follow_ups": follow_ups}
        )
        assert (verdict is None) == owned
        if owned:
            assert self.engine.report(claim, outcome, next={"follow_ups": follow_ups}) == "already"
        self.note()

    @rule(
        claim=claims,
        target=ids,
        number=st.integers(0, 3),
        serial=st.booleans(),
        gathers=st.booleans(),
        on_failure=st.sampled_from(["fail_parent", "ignore", "cancel_siblings"]),
        dedupe_key=st.sampled_from([None, None, "x"]),
    )
    def have_children(self, claim: Claim, number: int, serial: bool, gathers: bool, **words: object) -> Any:
        owned = self.owns(claim)
        children = [{"role": "other", "key": "c" if n else None, **words} for n in range(number)]
        spread = {"children": children, "serial": serial, "gathers": gathers}
        verdicts = self.unless_refused(lambda: self.engine.complete(claim, next=spread), "RC043")
        assert (verdicts in ([], [None])) == owned
        if verdicts == [None]:
            assert self.engine.complete(claim, next=spread) == "already"
        return multiple(*self.note())

    @rule(claim=claims, target=ids, siblings=st.booleans(), dedupe_key=st.sampled_from([None, "x"]))
    def leave_more_behind(self, claim: Claim, siblings: bool, dedupe_key: str | None) -> Any:
        draft = {"role": "work", "dedupe_key": dedupe_key}
        report_and = {"siblings": [draft]} if siblings else {"continuation": draft}
        self.unless_refused(lambda: self.engine.complete(claim, next=report_and), "RC042", "RC043", "RC044")
        return multiple(*self.note())

    @rule(task_id=ids, target=ids, needed=ids, serial=st.sampled_from([None, True]))
    def spawn(self, task_id: int, needed: int, serial: bool | None) -> Any:
        drafts = [{"role": "other"}, {"role": "work", "needs": [{"task": needed, "on_failure": "ignore"}]}]
        self.unless_refused(lambda: self.engine.spawn(task_id, *drafts, serial=serial), "RC043", "RC044")
        return multiple(*self.note())

    @rule(
        target=ids,
        needed=st.lists(ids, min_size=1, max_size=3),
        kind=st.sampled_from(["task", "chain"]),
        on_failure=st.sampled_from(["fail", "ignore"]),
        after=st.sampled_from([0, LEASE]),
    )
    def enqueue_blocked(self, needed: list[int], kind: str, on_failure: str, after: int) -> Any:
        self.engine.enqueue(needs=[{kind: task_id, "on_failure": on_failure} for task_id in needed], after=after)
        return multiple(*self.note())

    @rule(claim=claims, needed=ids, kind=st.sampled_from(["task", "chain"]))
    def come_to_need(self, claim: Claim, needed: int, kind: str) -> None:
        owned = self.owns(claim)
        answers = self.unless_refused(lambda: self.engine.block(claim, {kind: needed}), "RC043")
        assert owned or answers not in ([], [None])

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
        for answer in self.unless_refused(lambda: self.engine.retry(task_id)[task_id], "RC043"):
            assert (answer == "completed") == (before == "completed")
            if answer == "pending":
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

    @invariant()
    def the_rules_hold(self) -> None:
        check(self.engine)

    @invariant()
    def what_has_ended_stays_so(self) -> None:
        """Only a retry by an operator reopens a task."""
        ended = dict(self.engine.rows("select id, state::text from rolecall.finished_tasks"))
        reopened = {task_id for task_id, state in self.ended.items() if ended.get(task_id) != state}
        assert reopened <= self.revived
        self.ended = ended
        self.revived.clear()

    def teardown(self) -> None:
        """Check that nothing is stuck: with one worker and time, every stored task finishes."""
        for _ in range(400):
            if not self.engine.value("select exists (select from rolecall.tasks)"):
                break
            self.pass_time(LEASE + 1)
            self.engine.rescue()
            for claim in self.engine.claim(20, worker=9, handlers=ROLES):
                self.engine.complete(claim)
        assert [task.id for task in self.engine.tasks() if task.finished_at is None] == []
        assert {task.id for task in self.engine.tasks()} == self.known

    def note(self) -> set[int]:
        """Record all tasks; return the new ones."""
        new = {task.id for task in self.engine.tasks()} - self.known
        self.known |= new
        return new

    def unless_refused(self, call: Callable[[], object], *codes: str) -> list[object]:
        """Return the answer, or None if the call is rejected, which must not change anything."""
        before = self.engine.tasks()
        try:
            return [call()]
        except psycopg.Error as refusal:
            assert refusal.sqlstate in codes, refusal
            assert self.engine.tasks() == before
            return []

    def owns(self, claim: Claim) -> bool:
        [owned] = self.engine.rows(
            "select exists (select from rolecall.tasks where (id, fence, worker_id, state) = (%s, %s, %s, 'running'))",
            claim.id,
            claim.fence,
            claim.worker_id,
        )
        return bool(owned[0])


REASONS = ("taken", "completed", "cancelled")


@pytest.mark.timeout(600)
def test_random_calls_preserve_all_invariants(engine: Engine, borrowed: ReusedDatabase) -> None:
    run_state_machine_as_test(lambda: AnyCalls(engine, borrowed.restore_contents), settings=SUITE)
