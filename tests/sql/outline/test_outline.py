"""An outline lists few tasks, whatever the size of the tree."""

from __future__ import annotations

from rolecall.db.run import run
from rolecall.model.operator.details import ExpandedPhase, OutlinePhase
from rolecall.sql import outlines
from tests.sql.engine import START, Engine
from tests.sql.families import family, parent_of, spread

FETCH = {"role": "work", "handler": "fetch"}
STORE = {"role": "work", "handler": "store"}


def outline(
    engine: Engine, root_id: int, *, depth: int = 5, most: int = 150, unfolded: ExpandedPhase | None = None
) -> list[OutlinePhase]:
    return run(engine.connection, outlines.phases(root_id, depth=depth, most=most, unfolded=unfolded))


def declare_two(engine: Engine) -> None:
    engine.declare(handlers=[{"name": name, "role": "work"} for name in ("fetch", "store")])


def test_few_children_are_listed_in_order(engine: Engine) -> None:
    parent, children = family(engine, 3)
    engine.complete(engine.claim_one())

    [phase] = outline(engine, parent)

    assert (phase.parent_id, phase.handler, phase.depth, phase.number) == (parent, "work", 0, 3)
    assert phase.named == children
    assert phase.states == {"completed": 1, "pending": 2}
    assert not phase.folded


def test_handlers_are_separate_phases_with_the_oldest_first(engine: Engine) -> None:
    declare_two(engine)
    parent, [first, second, third] = parent_of(engine, STORE, FETCH, STORE)

    stores, fetches = outline(engine, parent)

    assert (stores.handler, stores.named) == ("store", [first, third])
    assert (fetches.handler, fetches.named) == ("fetch", [second])


def test_only_failed_and_running_children_are_listed_if_there_are_many(engine: Engine) -> None:
    parent, _ = family(engine, 20)
    failed, running = engine.claim(2)
    engine.fail(failed, final=True)

    [phase] = outline(engine, parent)

    assert phase.named == [failed.id, running.id]
    assert phase.states == {"failed": 1, "running": 1, "pending": 18}


def test_three_running_children_are_listed_with_waiting_ones_first(engine: Engine) -> None:
    parent, _ = family(engine, 20)
    claims = engine.claim(5)
    spread(engine, claims[4], FETCH | {"handler": "work"})

    assert outline(engine, parent)[0].named == [claims[0].id, claims[1].id, claims[4].id]


def test_three_failed_children_are_listed_if_there_are_many(engine: Engine) -> None:
    parent, children = family(engine, 20)
    for _ in range(5):
        engine.fail(engine.claim_one(), final=True)

    [phase] = outline(engine, parent)

    assert phase.named == children[:3]


def test_unfolded_phase_lists_thirty_children_with_failed_ones_first(engine: Engine) -> None:
    parent, children = family(engine, 40)
    for child in children[35:]:
        engine.fail_task(child, "x")

    [phase] = outline(engine, parent, unfolded=ExpandedPhase(parent_id=parent, handler="work"))

    assert phase.named == [*children[35:], *children[:25]]
    assert phase.folded


def test_children_below_the_last_level_are_only_counted(engine: Engine) -> None:
    parent, [child] = family(engine, 1)
    grandchildren = spread(engine, engine.claim_one(), {"role": "work"}, {"role": "work"})

    top, below = outline(engine, parent, depth=1)

    assert (top.named, below.parent_id, below.number, below.named) == ([child], child, 2, [])
    assert outline(engine, parent)[1].named == grandchildren


def test_further_tasks_are_only_counted_beyond_the_limit(engine: Engine) -> None:
    declare_two(engine)
    parent, children = parent_of(engine, FETCH, FETCH, STORE, STORE)

    fetches, stores = outline(engine, parent, most=3)

    assert (fetches.named, stores.named, stores.number) == (children[:2], [], 2)


def test_task_without_children_has_no_outline(engine: Engine) -> None:
    assert outline(engine, engine.enqueue()) == []
    assert outline(engine, 4711) == []


def test_ancestors_are_listed_from_the_root(engine: Engine) -> None:
    top, [middle] = family(engine, 1)
    [child] = spread(engine, engine.claim_one(), {"role": "work"})

    assert [each.id for each in run(engine.connection, outlines.ancestors(child))] == [top, middle]
    assert run(engine.connection, outlines.ancestors(top)) == []


def test_needs_are_listed_if_both_tasks_are_shown(engine: Engine) -> None:
    elsewhere = engine.enqueue(after=60)
    first = engine.enqueue()
    second = engine.enqueue(needs=[first, elsewhere])

    [need] = run(engine.connection, outlines.needs_among([first, second]))

    assert (need.task_id, need.needed_id, need.chain, need.outcome) == (second, first, False, None)


def test_children_of_several_tasks_are_counted_without_listing_them(engine: Engine) -> None:
    parent, _ = family(engine, 2)

    [phase] = run(engine.connection, outlines.children([parent], START))

    assert (phase.parent_id, phase.number, phase.named) == (parent, 2, [])
