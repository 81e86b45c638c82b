"""The infos of children are summed in their parent's info."""

from __future__ import annotations

import pytest

from tests.sql.engine import Document, Engine
from tests.sql.families import WORK, family, parent_of, spread


def sum_of(engine: Engine, own: Document | None, *infos: Document | None) -> Document | None:
    """Report these infos for a parent and its children; return the parent's info after it has finished."""
    parent_id = engine.enqueue()
    claim = engine.claim_one()
    if own is not None:
        engine.report_info(claim, own)
    children = spread(engine, claim, *[WORK] * len(infos))
    claims = engine.claim_all()
    for child, info in zip(children, infos, strict=True):
        if info is not None:
            engine.report_info(claims[child], info)
        engine.complete(claims[child])
    return engine.task(parent_id).info


@pytest.mark.parametrize(
    ("own", "infos", "expected"),
    [
        (None, [{"rows": 1}, {"rows": 2}, {"rows": 40}], {"rows": 43}),
        (None, [{"rows": 1.5}, {"rows": -2}], {"rows": -0.5}),
        (None, [{"name": "a"}, {"name": "b"}], {"name": "b"}),
        (None, [{"mixed": 1}, {"mixed": "x"}], {"mixed": "x"}),
        (None, [{"mixed": "x"}, {"mixed": 1}, {"mixed": 2}], {"mixed": 2}),
        (None, [{"flag": True}, {"flag": False}], {"flag": False}),
        (None, [{"deep": {"a": 1}}, {"deep": {"a": 2}}], {"deep": {"a": 2}}),
        (None, [{"none": None}, {"none": None}], {"none": None}),
        (None, [{"a": 1}, {"b": 2}], {"a": 1, "b": 2}),
        ({"rows": 7}, [{"rows": 1}, {"rows": 2}], {"rows": 7}),
        ({"own": True}, [{"rows": 1}, {"rows": 2}], {"own": True, "rows": 3}),
        ({"own": True}, [None], {"own": True}),
        (None, [None, None], None),
    ],
    ids=str,
)
def test_infos_are_merged_and_numbers_summed(
    engine: Engine, own: Document | None, infos: list[Document | None], expected: Document | None
) -> None:
    """For other values, the child with the highest id wins, and the parent's own values override all."""
    assert sum_of(engine, own, *infos) == expected


def test_info_of_the_child_with_the_highest_id_wins(engine: Engine) -> None:
    parent_id, children = family(engine, 2)
    claims = engine.claim_all()
    for child in reversed(children):
        engine.report_info(claims[child], {"name": str(child)})
        engine.complete(claims[child])

    assert engine.task(parent_id).info == {"name": str(children[1])}


def test_infos_are_summed_over_all_levels(engine: Engine) -> None:
    root = engine.enqueue()
    branches = spread(engine, engine.claim_one(), WORK, WORK)
    claims = engine.claim_all()
    for branch in branches:
        engine.report_info(claims[branch], {"branches": 1})
        spread(engine, claims[branch], WORK, WORK)
    for leaf in engine.claim_all().values():
        engine.report_info(leaf, {"rows": 10})
        engine.complete(leaf)

    assert engine.task(root).info == {"branches": 2, "rows": 40}


def test_infos_of_the_children_of_every_step_are_summed(engine: Engine) -> None:
    """The info reported in the first step does not override that of the children in the second."""
    engine.enqueue()
    for _ in range(2):
        spread(engine, engine.claim_one(), WORK, gathers=True)
        child = engine.claim_one()
        engine.report_info(child, {"rows": 5})
        engine.complete(child)
    gather = engine.claim_one()
    engine.report_info(gather, {"own": 1})
    engine.complete(gather)

    assert engine.task(gather.id).info == {"rows": 10, "own": 1}


def test_infos_of_failed_children_are_included(engine: Engine) -> None:
    parent_id, _ = family(engine, 1)
    claim = engine.claim_one()
    engine.report_info(claim, {"rows": 3})
    engine.fail(claim, final=True)

    assert (engine.state(parent_id), engine.task(parent_id).info) == ("failed", {"rows": 3})


def test_infos_of_every_task_of_a_childs_chain_are_included(engine: Engine) -> None:
    parent_id, _ = parent_of(engine, WORK)
    claim = engine.claim_one()
    engine.report_info(claim, {"rows": 1})
    engine.complete(claim, next={"continuation": WORK})
    claim = engine.claim_one()
    engine.report_info(claim, {"rows": 2})
    engine.complete(claim)

    assert engine.task(parent_id).info == {"rows": 3}
