"""The progress of a tree is counted from the tree itself, whatever its size."""

from __future__ import annotations

import json

import pytest

from rolecall.db.run import run
from rolecall.model.operator.progress import Activity, Progress, progress_of
from rolecall.sql import progress
from tests.sql.costs import buffers
from tests.sql.engine import Claim, Engine
from tests.sql.families import family, parent_of, spread

FETCH = {"role": "work", "handler": "fetch"}
MERGE = {"role": "work", "handler": "merge"}
CHILDREN = 10_000
FEW = 1_500


@pytest.fixture(autouse=True)
def handlers(engine: Engine) -> None:
    engine.declare(handlers=[{"name": name, "role": "work"} for name in ("fetch", "merge")])


def look(engine: Engine, task_id: int, **weights: float) -> Progress:
    return progress_of(run(engine.connection, progress.tree(task_id)), weights)


def claims(engine: Engine) -> dict[int, Claim]:
    return engine.claim_all()


def test_task_that_has_not_started_is_pending_and_not_idle(engine: Engine) -> None:
    seen = look(engine, engine.enqueue())

    assert (seen.activity, seen.fraction, seen.phases) == (Activity.PENDING, 0, [])


def test_children_of_one_handler_are_a_phase_counted_by_state(engine: Engine) -> None:
    """Failed children count as done."""
    root, children = parent_of(engine, *[{**FETCH, "on_failure": "ignore", "max_attempts": 1}] * 4, MERGE)
    held = claims(engine)
    engine.complete(held[children[0]])
    engine.fail(held[children[1]])

    seen = look(engine, root)

    fetch, merge = seen.phases
    assert (fetch.handler, fetch.total, fetch.completed, fetch.failed, fetch.running) == ("fetch", 4, 2, 1, 2)
    assert (merge.handler, merge.total, merge.completed, merge.running) == ("merge", 1, 0, 1)
    assert seen.fraction == pytest.approx(0.25)
    assert look(engine, root, fetch=3).fraction == pytest.approx(0.375)


def test_tree_between_two_phases_is_not_idle(engine: Engine) -> None:
    root, children = parent_of(engine, FETCH, MERGE, {"role": "work"}, serial=True)
    engine.complete(claims(engine)[children[0]])

    seen = look(engine, root)

    assert [(phase.handler, phase.activity) for phase in seen.phases] == [
        ("fetch", Activity.IDLE),
        ("merge", Activity.ACTIVE),
        ("work", Activity.PENDING),
    ]
    assert seen.step is not None
    assert seen.step.id == children[1]


def test_expected_children_are_counted_before_they_are_spawned(engine: Engine) -> None:
    root = engine.enqueue()
    claim = engine.claim_one()
    engine.report_info(claim, {"expected": {"fetch": 2, "merge": 50}})
    children = spread(engine, claim, FETCH, FETCH)
    engine.complete(claims(engine)[children[0]])

    seen = look(engine, root)

    assert [(phase.handler, phase.total, phase.activity) for phase in seen.phases] == [
        ("fetch", 2, Activity.ACTIVE),
        ("merge", 50, Activity.PENDING),
    ]
    assert seen.fraction == pytest.approx(0.25)


def test_step_counts_the_deepest_concurrent_children(engine: Engine) -> None:
    root, steps = parent_of(engine, FETCH, MERGE, serial=True)
    children = spread(engine, claims(engine)[steps[0]], *[{"role": "work"}] * 4)
    held = claims(engine)
    for child in children[:3]:
        engine.complete(held[child])

    seen = look(engine, root)

    assert seen.step is not None
    assert (seen.step.handler, seen.step.parent_id, seen.step.completed, seen.step.total) == ("fetch", steps[0], 3, 4)
    assert seen.fraction == pytest.approx(0.375)


def test_infos_of_children_are_summed_while_the_tree_runs(engine: Engine) -> None:
    root = engine.enqueue()
    claim = engine.claim_one()
    engine.report_info(claim, {"mine": 1, "pages": "own"})
    children = spread(engine, claim, *[FETCH] * 3)
    held = claims(engine)
    for number, child in enumerate(children):
        engine.report_info(held[child], {"rows": 10, "store": f"s{number}", "mine": 7, "pages": 2})
    engine.complete(held[children[0]])
    grandchildren = spread(engine, held[children[1]], FETCH, FETCH)
    for claim in claims(engine).values():
        engine.report_info(claim, {"rows": 1, "deep": 2})

    assert look(engine, root).info == {"mine": 1, "pages": "own", "rows": 30, "store": "s2", "deep": 4}
    assert len(grandchildren) == 2


def test_finished_tree_is_complete_and_idle_and_keeps_its_info(engine: Engine) -> None:
    root, children = family(engine, 2)
    for claim in claims(engine).values():
        engine.report_info(claim, {"rows": 5})
        engine.complete(claim)

    seen = look(engine, root)

    assert (seen.activity, seen.fraction, seen.step, seen.info) == (Activity.IDLE, 1, None, {"rows": 10})
    assert [(phase.total, phase.completed) for phase in seen.phases] == [(len(children), 2)]


def test_retried_task_counts_its_new_children_only(engine: Engine) -> None:
    root, children = family(engine, 2, max_attempts=1)
    held = claims(engine)
    engine.fail(held[children[0]])
    engine.complete(held[children[1]])
    assert engine.retry(root) == {root: "pending"}
    spread(engine, claims(engine)[root], *[{"role": "work"}] * 3)

    [phase] = look(engine, root).phases

    assert (phase.total, phase.completed) == (3, 0)


def test_tree_between_two_steps_is_active(engine: Engine) -> None:
    root, children = parent_of(engine, FETCH, gathers=True)
    engine.complete(claims(engine)[children[0]])

    seen = look(engine, root)

    assert (seen.state, seen.activity, seen.fraction) == ("pending", Activity.ACTIVE, 0.99)


def test_ten_thousand_children_are_counted_and_not_listed(live_engine: Engine) -> None:
    engine = live_engine
    root = engine.enqueue()
    engine.complete(engine.claim_one(), next={"children": [FETCH] * CHILDREN})
    done = engine.claim(CHILDREN // 2, worker=1)
    engine.finish(1, *({"id": claim.id, "fence": claim.fence, "outcome": "completed"} for claim in done))

    parents = run(engine.connection, progress.tree(root))

    assert buffers(engine, f"select * from rolecall.progress({root})") < FEW
    assert len(json.dumps([str(parent) for parent in parents])) < 1_000
    assert progress_of(parents).fraction == pytest.approx(0.5)
