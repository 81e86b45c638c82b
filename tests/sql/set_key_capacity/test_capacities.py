"""The capacity of a key, set for the key or for a pattern."""

from __future__ import annotations

import json

import pytest

from tests.sql.conftest import Session
from tests.sql.engine import Engine
from tests.sql.interleavings.stage import Stage, commit, opening
from tests.sql.refusals import refused


def set_capacity(engine: Engine, pattern: str, capacity: int | None) -> None:
    engine.rows("select rolecall.set_key_capacity(%s, %s)", pattern, capacity)


def declare(engine: Engine, **capacities: int) -> None:
    engine.rows("select rolecall.declare_key_capacities(%s)", json.dumps(capacities))


def running(engine: Engine, key: str, tasks: int = 9) -> int:
    """Return how many of several tasks of a key run at once."""
    engine.enqueue_many([{"role": "work", "key": key}] * tasks)
    engine.claim(tasks)
    engine.claim(tasks)
    number: int = engine.value("select count(*) from rolecall.tasks where state = 'running' and key = %s", key)
    return number


def test_default_capacity_of_a_key_is_one(engine: Engine) -> None:
    assert running(engine, "tenant:1") == 1


def test_capacity_of_a_key_applies_to_that_key_only(engine: Engine) -> None:
    set_capacity(engine, "tenant:1", 3)

    assert (running(engine, "tenant:1"), running(engine, "tenant:10")) == (3, 1)


def test_pattern_applies_to_every_key_with_its_prefix(engine: Engine) -> None:
    set_capacity(engine, "tenant:*", 3)

    assert [running(engine, key) for key in ("tenant:1", "tenant:2", "tenant", "store:1")] == [3, 3, 1, 1]


def test_star_alone_applies_to_every_key(engine: Engine) -> None:
    set_capacity(engine, "*", 2)

    assert running(engine, "anything") == 2


def test_own_capacity_and_then_the_longest_pattern_take_precedence(engine: Engine) -> None:
    set_capacity(engine, "tenant:*", 2)
    set_capacity(engine, "tenant:big:*", 4)
    set_capacity(engine, "tenant:big:7", 5)

    assert [running(engine, key) for key in ("tenant:1", "tenant:big:1", "tenant:big:7")] == [2, 4, 5]


@pytest.mark.parametrize("pattern", ["*", "role:*"])
def test_patterns_do_not_apply_to_a_role_with_one_root(engine: Engine, pattern: str) -> None:
    engine.declare({"name": "solo", "one_root": True})
    set_capacity(engine, pattern, 3)
    engine.enqueue_many([{"role": "solo"}] * 3)

    assert len(engine.claim(3)) == 1
    assert running(engine, "role:work") == 3


def test_underscores_and_percent_signs_are_literal(engine: Engine) -> None:
    set_capacity(engine, "a_%*", 2)

    assert [running(engine, key) for key in ("a_%1", "abc1")] == [2, 1]


@pytest.mark.parametrize("pattern", ["tenant:1", "tenant:*", "*"])
def test_parked_tasks_are_claimable_after_an_increase(engine: Engine, pattern: str) -> None:
    assert running(engine, "tenant:1") == 1

    set_capacity(engine, pattern, 3)

    assert len(engine.claim(9)) == 2


def test_reduced_capacity_admits_no_task_until_enough_have_finished(engine: Engine) -> None:
    set_capacity(engine, "tenant:*", 2)
    engine.enqueue_many([{"role": "work", "key": "tenant:1"}] * 4)
    first, second = engine.claim(4)

    set_capacity(engine, "tenant:*", 1)
    engine.complete(first)
    assert engine.claim(4) == []
    engine.complete(second)

    assert len(engine.claim(4)) == 1


@pytest.mark.parametrize("pattern", ["tenant:1", "tenant:*"])
def test_removing_a_set_capacity_restores_the_declared_one(engine: Engine, pattern: str) -> None:
    declare(engine, **{pattern: 2})
    set_capacity(engine, pattern, 4)
    set_capacity(engine, pattern, None)

    assert running(engine, "tenant:1") == 2


@pytest.mark.parametrize("pattern", ["tenant:1", "tenant:*"])
def test_set_capacity_survives_the_next_declaration(engine: Engine, pattern: str) -> None:
    declare(engine, **{pattern: 2})
    set_capacity(engine, pattern, 4)
    declare(engine, **{pattern: 3})

    assert running(engine, "tenant:1") == 4


def test_repeated_declaration_changes_no_row(engine: Engine) -> None:
    declare(engine, **{"tenant:*": 2, "api": 3})
    versions = (
        "select array(select xmin::text from rolecall.keys union all select xmin::text from rolecall.key_patterns)"
    )
    before = engine.value(versions)

    declare(engine, **{"tenant:*": 2, "api": 3})

    assert engine.value(versions) == before


def test_repeated_declaration_waits_for_no_lock(engine: Engine, session: Session) -> None:
    declare(engine, **{"tenant:*": 2, "api": 3})
    busy = session()
    busy.rows("begin")
    busy.rows("select from rolecall.keys for update")
    busy.rows("select from rolecall.key_patterns for update")
    engine.rows("set lock_timeout = '1ms'")

    declare(engine, **{"tenant:*": 2, "api": 3})


@pytest.mark.parametrize("pattern", ["api", "tenant:*"])
def test_declaration_without_a_number_is_rejected(engine: Engine, pattern: str) -> None:
    with refused("RC041", "a number from 1 to 32767"):
        engine.rows("select rolecall.declare_key_capacities(jsonb_build_object(%s::text, null))", pattern)


def test_declared_capacity_of_zero_is_rejected(engine: Engine) -> None:
    with refused("RC041", "a number from 1 to 32767, not 0"):
        declare(engine, api=0)


def test_key_with_capacity_zero_starts_no_task_until_another_capacity_is_set(engine: Engine) -> None:
    set_capacity(engine, "tenant:7", 0)
    paused, other = engine.enqueue(key="tenant:7"), engine.enqueue(key="shop:1")

    assert [claim.id for claim in engine.claim(5)] == [other]
    assert engine.claim_these(paused)[1] == {paused: "key busy"}

    set_capacity(engine, "tenant:7", None)
    assert [claim.id for claim in engine.claim(5)] == [paused]


def test_running_task_of_a_paused_key_finishes_and_no_other_starts(engine: Engine) -> None:
    first, second = engine.enqueue(key="k"), engine.enqueue(key="k")
    [claim] = engine.claim(5)
    set_capacity(engine, "k", 0)

    assert claim.id == first
    assert engine.complete(claim) is None
    assert engine.claim(5) == []
    assert engine.task(second).state == "pending"


def test_list_contains_effective_declared_and_set_capacities(engine: Engine) -> None:
    declare(engine, **{"tenant:*": 2, "api": 3})
    set_capacity(engine, "tenant:*", 4)
    set_capacity(engine, "store:7", 5)
    running(engine, "a key with no declared capacity")

    assert engine.rows("select * from rolecall.key_capacities()") == [
        ("api", 3, 3, None),
        ("store:7", 5, None, 5),
        ("tenant:*", 4, 2, 4),
    ]


def test_list_continues_after_the_given_pattern(engine: Engine) -> None:
    for pattern in ("a", "b*", "c", "d*"):
        set_capacity(engine, pattern, 2)

    assert engine.rows("select pattern from rolecall.key_capacities('b*', 2)") == [("c",), ("d*",)]


@pytest.mark.parametrize(
    ("pattern", "capacity", "words"),
    [
        ("", 2, "1 to 200 characters"),
        ("x" * 201, 2, "1 to 200 characters"),
        (None, 2, "1 to 200 characters"),
        ("a*b", 2, "a star before its end"),
        ("**", 2, "a star before its end"),
        ("a", -1, "a number from 0 to 32767, not -1"),
        ("a*", 0, "a number from 1 to 32767, not 0"),
        ("a", 32_768, "a number from 0 to 32767, not 32768"),
    ],
)
def test_invalid_pattern_or_capacity_is_rejected(
    engine: Engine, pattern: str | None, capacity: int, words: str
) -> None:
    with refused("RC041", words):
        set_capacity(engine, pattern, capacity)


def test_unused_key_is_pruned_unless_its_capacity_was_set_or_declared(engine: Engine) -> None:
    set_capacity(engine, "set", 2)
    declare(engine, declared=2)
    for key in ("set", "declared", "neither"):
        engine.enqueue(key=key)
        engine.complete(engine.claim_one())

    engine.prune()

    assert engine.rows("select key from rolecall.keys order by key") == [("declared",), ("set",)]


def test_capacity_set_during_pruning_is_kept(stage: Stage) -> None:
    for play in stage.orders(2, 2):
        stage.engine.enqueue(key="tenant:1")
        stage.engine.complete(stage.engine.claim_one())
        forget = (opening(lambda engine: engine.prune()), commit)
        keep = (opening(lambda engine: set_capacity(engine, "tenant:1", 3)), commit)

        play.run(forget, keep)

        assert stage.engine.value("select capacity from rolecall.keys where key = 'tenant:1'") == 3
