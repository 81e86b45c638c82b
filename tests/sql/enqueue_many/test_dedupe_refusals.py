"""Invalid dedupe rules: each defect is named, and nothing is stored."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.engine import Document, Engine

RULE = "the merge rule must be"


@pytest.mark.parametrize(
    ("dedupe", "says"),
    [
        ([], "dedupe must be an object, not array"),
        ("merge", "dedupe must be an object, not string"),
        ({"moed": "merge"}, "dedupe has the fields mode, scope, window, merge and except_chain, not moed"),
        ({"mode": "ignore"}, "the dedupe mode must be keep, replace, merge or error, got 'ignore'"),
        ({"scope": "all"}, "the dedupe scope must be pending, open or any, got 'all'"),
        (
            {"mode": "replace", "scope": "open"},
            "the mode replace changes only unclaimed tasks: its scope must be pending",
        ),
        ({"mode": "merge", "scope": "any", "window": 1}, "merge changes only unclaimed tasks"),
        ({"scope": "open", "window": 60}, "only the scope any can have a window"),
        ({"window": 60}, "only the scope any can have a window"),
        ({"scope": "any", "window": 0}, "the dedupe window must be 0.001 to 4e9 s, got 0 s"),
        ({"scope": "any", "window": 1e10}, "must be 0.001 to 4e9 s"),
        ({"scope": "any", "window": "60"}, "the dedupe window must be 0.001 to 4e9 s, got 60 s"),
        ({"scope": "any", "window": [60]}, "the dedupe window must be 0.001 to 4e9 s, got [60] s"),
        ({"except_chain": "mine"}, "except_chain must be the id of a chain, not 'mine'"),
        ({"except_chain": -1}, "except_chain must be the id of a chain, not '-1'"),
        ({"merge": {"kind": "json"}}, "only the mode merge can have a merge rule"),
        ({"mode": "keep", "merge": {"kind": "json"}}, "only the mode merge can have a merge rule"),
        ({"mode": "merge", "merge": "union"}, RULE),
        ({"mode": "merge", "merge": {}}, RULE),
        ({"mode": "merge", "merge": {"kind": "yaml"}}, RULE),
        ({"mode": "merge", "merge": {"fields": {}, "function": "x.y"}}, RULE),
        ({"mode": "merge", "merge": {"fields": ["ids"]}}, "the fields of a merge rule must be an object, not array"),
        (
            {"mode": "merge", "merge": {"fields": {"ids": "unoin"}}},
            "the merge rule of field 'ids' must be union, sum, max, min, last or keep, got \"unoin\"",
        ),
        ({"mode": "merge", "merge": {"fields": {"ids": 1}}}, "got 1"),
        (
            {"mode": "merge", "merge": {"function": "no.where"}},
            "there is no function no.where(jsonb, jsonb) that returns jsonb",
        ),
        ({"mode": "merge", "merge": {"function": "upper"}}, "there is no function upper(jsonb, jsonb)"),
        ({"mode": "merge", "merge": {"function": "drop table x; --"}}, "there is no function"),
        (
            {"mode": "merge", "merge": {"function": "pg_catalog.jsonb_contains"}},
            "that returns jsonb; include its schema in the name",
        ),
    ],
    ids=str,
)
def test_invalid_dedupe_rule_is_rejected_and_the_task_named(engine: Engine, dedupe: object, says: str) -> None:
    with pytest.raises(psycopg.Error) as refusal:
        engine.enqueue_many([{"role": "work"}, {"role": "work", "dedupe_key": "d", "dedupe": dedupe}])

    assert refusal.value.sqlstate == "RC040"
    assert (refusal.value.diag.message_primary or "").startswith("task 1: ")
    assert says in str(refusal.value)
    assert engine.tasks() == []


def test_dedupe_rule_without_a_dedupe_key_is_rejected(engine: Engine) -> None:
    with pytest.raises(psycopg.Error, match="dedupe requires a dedupe_key"):
        engine.enqueue(dedupe={"mode": "merge"})


@pytest.mark.parametrize("dedupe", [None, {}, {"mode": None, "scope": None, "merge": None}], ids=str)
def test_empty_dedupe_rule_equals_the_default(engine: Engine, dedupe: Document | None) -> None:
    assert engine.enqueue(dedupe_key="d", dedupe=dedupe) == engine.enqueue(dedupe_key="d")
