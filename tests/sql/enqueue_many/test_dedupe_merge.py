"""Merging two payloads by the rule of the newer task."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest

from tests.sql.engine import START, STEP, Document, Engine


def merge(engine: Engine, payload: Document, rule: Document | None = None, **words: object) -> int:
    dedupe = {"mode": "merge"} | ({"merge": rule} if rule else {})
    return engine.enqueue(dedupe_key="d", dedupe=dedupe, payload=payload, **words)


def merged(engine: Engine, old: Document, new: Document, rule: Document | None = None) -> Document:
    first = merge(engine, old)
    assert merge(engine, new, rule) == first
    return engine.task(first).payload


def problem(engine: Engine, old: Document, new: Document, rule: Document) -> str:
    merge(engine, old)
    with pytest.raises(psycopg.Error) as refusal:
        merge(engine, new, rule)
    assert refusal.value.sqlstate == "RC040"
    assert [task.payload for task in engine.tasks()] == [old]
    return refusal.value.diag.message_primary or ""


@pytest.mark.parametrize("rule", [None, {"kind": "json"}], ids=str)
def test_newer_fields_overwrite_older_ones_by_default(engine: Engine, rule: Document | None) -> None:
    assert merged(engine, {"a": 1, "b": {"x": 1}}, {"b": {"y": 2}, "c": None}, rule) == {
        "a": 1,
        "b": {"y": 2},
        "c": None,
    }


@pytest.mark.parametrize(
    ("rule", "old", "new", "expected"),
    [
        ("union", [3, 1], [2, 3], [3, 1, 2]),
        ("union", [1, 1, "a"], [{"b": 1}, "a"], [1, "a", {"b": 1}]),
        ("union", [], [], []),
        ("sum", 1, 2.5, 3.5),
        ("sum", 0.1, 0.2, 0.3),
        ("max", 9, 10, 10),
        ("max", 10, 9, 10),
        ("min", 9, 10, 9),
        ("max", "2026-01-02", "2026-01-10", "2026-01-10"),
        ("min", "2026-01-02", "2026-01-10", "2026-01-02"),
        ("last", 1, "x", "x"),
        ("keep", 1, "x", 1),
        ("sum", None, 2, 2),
        ("union", [1], None, [1]),
        ("keep", None, 2, 2),
        ("last", 1, None, 1),
    ],
)
def test_field_is_merged_by_its_rule(engine: Engine, rule: str, old: object, new: object, expected: object) -> None:
    """A null on one side takes the value of the other."""
    assert merged(engine, {"f": old}, {"f": new, "g": 1}, {"fields": {"f": rule}}) == {"f": expected, "g": 1}


def test_field_missing_on_one_side_is_taken_from_the_other(engine: Engine) -> None:
    rule = {"fields": {"old": "sum", "new": "union", "none": "max"}}

    assert merged(engine, {"old": 1}, {"new": [2]}, rule) == {"old": 1, "new": [2]}


@pytest.mark.parametrize(
    ("rule", "old", "new", "says"),
    [
        ("union", [1], 2, "field 'f' cannot be merged: union of array and number"),
        ("sum", "1", 2, "sum of string and number"),
        ("max", 1, "2", "max of number and string"),
        ("min", True, False, "min of boolean and boolean"),
    ],
)
def test_values_that_a_rule_cannot_merge_are_rejected(
    engine: Engine, rule: str, old: object, new: object, says: str
) -> None:
    assert says in problem(engine, {"f": old}, {"f": new}, {"fields": {"f": rule}})


def test_database_function_merges_with_the_rights_of_the_caller(engine: Engine) -> None:
    engine.rows("""
        create schema "My shop";
        create function "My shop".carts(a jsonb, b jsonb) returns jsonb language sql
        as $$ select jsonb_build_object('by', current_user, 'items', (a -> 'items') || (b -> 'items')) $$;
    """)

    payload = merged(engine, {"items": [1]}, {"items": [2]}, {"function": '"My shop".carts'})

    assert payload == {"by": engine.value("select current_user"), "items": [1, 2]}


def test_merge_function_without_an_object_result_is_rejected(engine: Engine) -> None:
    engine.rows("create function public.nothing(jsonb, jsonb) returns jsonb language sql return null::jsonb")

    assert "public.nothing did not return an object" in problem(engine, {"a": 1}, {}, {"function": "public.nothing"})


def test_failing_merge_function_stores_nothing(engine: Engine) -> None:
    engine.rows("create function public.broken(jsonb, jsonb) returns jsonb language sql return to_jsonb(1 / 0)")
    merge(engine, {"a": 1})

    with pytest.raises(psycopg.errors.DivisionByZero):
        merge(engine, {"a": 2}, {"function": "public.broken"})
    assert [task.payload for task in engine.tasks()] == [{"a": 1}]


def test_merged_payload_above_the_role_limit_is_rejected(engine: Engine) -> None:
    engine.declare({"name": "work", "max_payload_bytes": 1024})

    says = problem(engine, {"ids": ["x" * 600]}, {"ids": ["y" * 600]}, {"fields": {"ids": "union"}})

    assert "bytes, the role allows 1024" in says


@pytest.mark.parametrize(("old", "new", "higher"), [(3, 7, 7), (7, 3, 7), (-5, 0, 0)])
def test_merging_keeps_the_higher_priority(engine: Engine, old: int, new: int, higher: int) -> None:
    first = merge(engine, {"a": 1}, priority=old)
    merge(engine, {"b": 2}, priority=new)

    assert engine.task(first).priority == higher


@pytest.mark.parametrize(("old", "new"), [(60, 30), (30, 60), (60, 0)])
def test_merging_takes_the_newer_start_time(engine: Engine, old: int, new: int) -> None:
    first = merge(engine, {"a": 1}, after=old)
    merge(engine, {"b": 2}, after=new)

    assert engine.task(first).scheduled_for == START + timedelta(seconds=new)


def test_tasks_of_one_batch_are_merged(engine: Engine) -> None:
    rule = {"mode": "merge", "merge": {"fields": {"ids": "union", "n": "sum"}}}
    batch = [{"role": "work", "dedupe_key": "d", "dedupe": rule, "payload": {"ids": [n, 0], "n": 1}} for n in range(5)]

    ids, deduplicated = engine.enqueue_many(batch)

    assert (set(ids), deduplicated) == ({ids[0]}, ids[1:])
    assert engine.task(ids[0]).payload == {"ids": [0, 1, 2, 3, 4], "n": 5}


def test_payloads_enqueued_during_a_run_are_merged_for_the_next_run(engine: Engine) -> None:
    """No payload is lost between the claim and the completion."""
    rule = {"fields": {"ids": "union"}}
    merge(engine, {"ids": [1]}, rule)
    first = engine.claim_one()
    for n in (2, 3):
        merge(engine, {"ids": [n]}, rule)
    engine.complete(first)
    merge(engine, {"ids": [4]}, rule, after=STEP)
    engine.clock.advance(seconds=STEP)

    assert (first.payload, engine.claim_one().payload) == ({"ids": [1]}, {"ids": [2, 3, 4]})


def test_follow_ups_of_one_outcome_are_merged_into_the_pending_task(engine: Engine) -> None:
    draft = {"role": "work", "dedupe_key": "d", "dedupe": {"mode": "merge", "merge": {"fields": {"ids": "union"}}}}
    engine.enqueue()
    claim = engine.claim_one()
    standing = merge(engine, {"ids": [1]})

    engine.complete(claim, next={"follow_ups": [{**draft, "payload": {"ids": [n]}} for n in (2, 3)]})

    assert engine.task(standing).payload == {"ids": [1, 2, 3]}
