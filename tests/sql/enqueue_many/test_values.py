"""Values at the limits of JSON and Postgres, in payload, result, error, info, key and dedupe_key."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.sql.engine import Document, Engine, report

TEXTS = [
    "",
    "ü€😀",
    "\u2028\u0085",
    "'; drop table rolecall.tasks; --",
    "\\u0000 spelled out",
    "a\tb\nc\r",
    "\ufeff",
    "{}",
    "%s",
]
NUMBERS: list[Any] = [0, -1, 2**31, 2**53 + 1, 10**40, -(10**40), 0.1, 1e-300, 123456789.123456789]
# Sent by a client that does not validate them.
UNSTORABLE = ['{"a": "\\u0000"}', '{"a": NaN}', '{"a": Infinity}', '{"a": "\\ud800"}', '{"a": 1', '{"\\u0000": 1}']

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
# A float beyond 2^53 is returned as the integer that it equals.
number = st.integers() | st.floats(allow_nan=False, min_value=-(2.0**53), max_value=2.0**53)
value = st.recursive(
    st.none() | st.booleans() | number | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize("word", [text for text in TEXTS if text])
def test_any_text_can_be_a_key(engine: Engine, word: str) -> None:
    task_id = engine.enqueue(key=word, dedupe_key=word)

    assert engine.enqueue(dedupe_key=word) == task_id
    claim = engine.claim_one()
    assert claim.key == word
    assert engine.task(task_id).dedupe_key == word
    assert engine.fail(claim, word, final=True) is None
    assert engine.task(task_id).error == word


@pytest.mark.parametrize("item", [*TEXTS, *NUMBERS])
def test_value_is_returned_as_stored(engine: Engine, item: Any) -> None:
    engine.enqueue(payload={"a": item, str(item): [item]})
    claim = engine.claim_one()
    assert claim.payload["a"] == item

    engine.report_info(claim, {"a": item})
    engine.complete(claim, result=[item])

    task = engine.task(claim.id)
    assert (task.payload, task.info, task.result) == (claim.payload, {"a": item}, [item])


@settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(documents=st.lists(st.dictionaries(text, value, max_size=5), min_size=1, max_size=12))
def test_document_is_returned_as_stored(engine: Engine, documents: list[Document]) -> None:
    ids, _ = engine.enqueue_many([{"role": "work", "payload": document} for document in documents])
    claims = engine.claim(len(ids), worker=1)
    engine.finish(1, *(report(claim, "completed", result=claim.payload) for claim in claims))

    stored = [engine.task(task_id) for task_id in ids]
    assert [task.payload for task in stored] == documents
    assert [task.result for task in stored] == documents


@pytest.mark.parametrize("document", UNSTORABLE)
def test_document_that_jsonb_cannot_store_is_rejected(engine: Engine, document: str) -> None:
    with pytest.raises(psycopg.Error) as refusal:
        engine.rows("select rolecall.enqueue('work', %s::jsonb)", document)

    assert refusal.value.sqlstate in {"22P02", "22P05"}
    assert engine.tasks() == []


@pytest.mark.parametrize("document", UNSTORABLE)
@pytest.mark.parametrize("part", ["result", "error"])
def test_task_can_be_finished_after_an_outcome_that_cannot_be_stored(engine: Engine, document: str, part: str) -> None:
    engine.enqueue()
    claim = engine.claim_one()
    words = f'"id": {claim.id}, "fence": {claim.fence}, "outcome": "failed", "{part}": {document}'

    with pytest.raises(psycopg.Error) as refusal:
        engine.rows("select * from rolecall.finish(%s, %s::jsonb)", claim.worker_id, "[{" + words + "}]")

    assert refusal.value.sqlstate in {"22P02", "22P05"}
    assert engine.fail(claim, "the result cannot be stored", final=True) is None
    assert engine.task(claim.id).state == "failed"


def test_deeply_nested_document_is_stored_or_rejected(engine: Engine) -> None:
    assert engine.enqueue(payload={"a": json.loads("[" * 900 + "]" * 900)})

    with pytest.raises(psycopg.Error) as refusal:
        engine.rows("select rolecall.enqueue('work', %s::jsonb)", '{"a":' + "[" * 200_000 + "]" * 200_000 + "}")

    assert refusal.value.sqlstate == "54001"


def test_last_of_duplicate_field_names_wins(engine: Engine) -> None:
    engine.rows("""select rolecall.enqueue('work', '{"a": 1, "a": 2}')""")

    assert engine.claim_one().payload == {"a": 2}


def test_error_of_a_million_characters_is_stored(engine: Engine) -> None:
    engine.enqueue()
    claim = engine.claim_one()

    assert engine.fail(claim, "x" * 1_000_000, final=True) is None
    assert len(engine.task(claim.id).error or "") == 1_000_000
