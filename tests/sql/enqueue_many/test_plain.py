"""The fast paths for one and many plain tasks: they store the rows of the general path, or leave all to it."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from tests.sql.engine import Document, Engine

WORDS = [
    "role",
    "handler",
    "payload",
    "priority",
    "scheduled_for",
    "after",
    "key",
    "dedupe_key",
    "max_attempts",
    "trace_context",
]
CALL = (
    "select rolecall.enqueue_plain(%s::text, %s::text, %s::jsonb, %s::int, %s::timestamptz, %s::float8, %s::text,"
    " %s::text, %s::int, %s::text)"
)
# An option of the general path that has no effect.
GENERAL: Document = {"needs": []}
LATER = "2026-01-01T01:00:00Z"


@pytest.fixture
def engine(engine: Engine) -> Engine:
    """An engine that has had tasks of all these kinds."""
    engine.declare(
        {"name": "single", "one_root": True},
        {"name": "small", "max_payload_bytes": 1024},
        handlers=[
            {"name": "fetch", "role": "work", "max_attempts": 1},
            {"name": "keyed", "role": "work", "key": "store:{store}"},
            {"name": "deduped", "role": "work", "dedupe_key": "store:{store}"},
        ],
    )
    kinds: list[Document] = [{"role": role} for role in ("work", "single", "small")]
    kinds += [{"handler": handler, "payload": {"store": 1}} for handler in ("fetch", "keyed", "deduped")]
    engine.enqueue_many([*kinds, {"role": "work", "priority": -3}, {"role": "work", "max_attempts": 1}])
    engine.enqueue(handler="fetch", max_attempts=0, role="work")
    engine.rows("delete from rolecall.tasks")
    return engine


def plain(engine: Engine, **words: Any) -> int | None:
    """Call the fast path alone; return None if it stores nothing."""
    values = [Jsonb(words["payload"]) if name == "payload" and name in words else words.get(name) for name in WORDS]
    task_id: int | None = engine.value(CALL, *values)
    return task_id


def row(engine: Engine, task_id: int) -> Document:
    """Return the row of the task without its id."""
    stored: Document = engine.value("select to_jsonb(task) from rolecall.tasks as task where id = %s", task_id)
    assert stored.pop("id") == stored.pop("chain_id")
    engine.rows("delete from rolecall.tasks")
    return stored


@pytest.mark.parametrize(
    "words",
    [
        {"role": "work"},
        {"handler": "work", "payload": {"store": 7, "note": None}},
        {"handler": "fetch"},
        {"handler": "fetch", "max_attempts": 0},
        {"role": "work", "max_attempts": 1},
        {"role": "single"},
        {"role": "single", "key": "k"},
        {"role": "work", "priority": -3},
        {"role": "work", "scheduled_for": LATER},
        {"role": "work", "scheduled_for": "1999-01-01T00:00:00Z"},
        {"role": "work", "after": 90},
        {"role": "work", "after": -1},
        {"role": "work", "key": "k", "dedupe_key": "d", "trace_context": "00-1-2-01"},
        {"role": "small", "payload": {"text": "x" * 900}},
    ],
    ids=str,
)
def test_fast_path_stores_the_same_row_as_the_general_path(engine: Engine, words: Document) -> None:
    short = plain(engine, **words)
    assert short is not None
    as_short = row(engine, short)
    [by_call], _ = engine.enqueue_many([words])

    assert row(engine, by_call) == as_short
    assert row(engine, engine.enqueue(**{"role": None, **words, **GENERAL})) == as_short


@pytest.mark.parametrize(
    "words",
    [
        {"role": "nope"},
        {"payload": {}},
        {"role": "work", "payload": [1]},
        {"role": "work", "payload": None},
        {"role": "small", "payload": {"text": "x" * 1100}},
        {"role": "work", "priority": 101},
        {"role": "work", "scheduled_for": "2999-01-01T00:00:00Z"},
        {"role": "work", "after": 4e9},
        {"role": "work", "scheduled_for": LATER, "after": 5},
        {"role": "work", "key": ""},
        {"role": "work", "dedupe_key": ""},
        {"role": "work", "max_attempts": -1},
        {"role": "work", "trace_context": "x" * 1001},
        {"role": "work", "priority": 5},
        {"handler": "keyed", "payload": {"store": 1}},
        {"handler": "deduped", "payload": {"store": 1}},
    ],
    ids=lambda words: str(words)[:60],
)
def test_fast_path_leaves_other_drafts_to_the_general_path(engine: Engine, words: Document) -> None:
    """These are invalid drafts, the first task of a kind, and tasks of handlers with declared keys."""
    assert plain(engine, **words) is None
    assert engine.tasks() == []

    assert outcome(engine, words) == outcome(engine, {**words, **GENERAL})


def outcome(engine: Engine, draft: Document) -> object:
    """Return the stored row, or the error."""
    try:
        [task_id], _ = engine.enqueue_many([draft])
    except psycopg.Error as error:
        assert engine.tasks() == []
        return error.sqlstate, error.diag.message_primary
    return row(engine, task_id)


@pytest.mark.parametrize("dedupe", [None, {"scope": "pending"}], ids=str)
def test_duplicate_is_left_to_the_general_path(engine: Engine, dedupe: Document | None) -> None:
    [twin], _ = engine.enqueue_many([{"role": "work", "dedupe_key": "d", "dedupe": dedupe}])

    assert plain(engine, role="work", dedupe_key="d") is None
    assert engine.enqueue_many([{"role": "work", "dedupe_key": "d"}]) == ([twin], [twin])
    assert [task.id for task in engine.tasks()] == [twin]


@pytest.mark.parametrize(
    "words",
    [
        {"retry": {"kind": "none"}},
        {"timeout": 5},
        {"on_failure": "ignore"},
        {"dedupe_key": "d", "dedupe": {"scope": "pending"}},
    ],
    ids=str,
)
def test_options_of_the_general_path_are_stored(engine: Engine, words: Document) -> None:
    stored = row(engine, engine.enqueue(**words))

    names = {"dedupe": "dedupe_pending"}
    assert [name for name in words if stored[names.get(name, name)] is None] == []


def test_need_is_stored_by_the_general_path(engine: Engine) -> None:
    needed = engine.enqueue()

    assert engine.task(engine.enqueue(needs=[needed])).state == "blocked"


KINDS: list[Document] = [
    {"role": "work"},
    {"role": "single"},
    {"handler": "fetch"},
    {"handler": "work", "role": None},
    {"handler": "fetch", "role": "single"},
]
SOUND: dict[str, list[object]] = {
    "payload": [{}, {"store": 7, "note": None}],
    "priority": [0, -3, 5],
    "scheduled_for": [LATER, "1999-01-01T00:00:00Z"],
    "key": ["k"],
    "max_attempts": [0, 1, 4],
    "retry": [{"kind": "none"}],
    "timeout": [5],
    "on_failure": ["ignore"],
    "trace_context": ["00-1-2-01"],
}
UNSOUND: dict[str, list[object]] = {
    "role": ["nope", ""],
    "handler": ["nope"],
    "scheduled_for": [LATER, "infinity"],
    "after": [-1, 90, 4e9],
    "payload": [[1]],
    "priority": [101],
    "key": [""],
    "max_attempts": [-1],
    "retry": [{"kind": "maybe"}],
    "timeout": [-5],
    "on_failure": ["explode"],
    "trace_context": ["x" * 1001],
}


def drafts(words: dict[str, list[object]]) -> st.SearchStrategy[Document]:
    several = st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in words.items()})
    return st.builds(dict.__or__, st.sampled_from(KINDS), several)


def batch_outcome(engine: Engine, batch: list[Document]) -> object:
    """Return the stored rows in batch order without ids, or the error."""
    with engine.connection.transaction(force_rollback=True):
        try:
            ids, deduplicated = engine.enqueue_many(batch)
        except psycopg.Error as error:
            return error.sqlstate, error.diag.message_primary
        assert (ids, deduplicated) == (sorted(ids), [])
        return engine.rows(
            """select to_jsonb(task) - array['id', 'chain_id', 'line_id'], task.chain_id = task.id,
                line.role, line.handler, line.priority, line.never_ahead
            from rolecall.tasks as task join rolecall.lines as line on line.id = task.line_id order by task.id"""
        )


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(drafts(SOUND), min_size=2, max_size=6), st.lists(drafts(UNSOUND), max_size=2))
def test_plain_batch_has_the_same_outcome_as_the_general_path(
    engine: Engine, sound: list[Document], unsound: list[Document]
) -> None:
    batch = [*sound, *unsound]

    assert batch_outcome(engine, batch) == batch_outcome(engine, [{**draft, **GENERAL} for draft in batch])


def test_first_of_several_invalid_drafts_is_named(engine: Engine) -> None:
    batch: list[Document] = [{"role": role} for role in ("work", "single", "small")] * 30
    batch[70] = {"role": "work", "priority": 101}
    batch[41] = {"role": "nope"}
    batch[80] = {"role": "work", "key": ""}

    assert batch_outcome(engine, batch) == ("RC031", "task 41: unknown role 'nope'")


def test_declared_keys_apply_to_tasks_of_a_plain_batch(engine: Engine) -> None:
    ids, _ = engine.enqueue_many([{"handler": "keyed", "payload": {"store": store}} for store in (1, 2)])

    assert [engine.task(task_id).key for task_id in ids] == ["store:1", "store:2"]


def test_draft_left_by_the_fast_path_consumes_no_id(engine: Engine) -> None:
    first = engine.enqueue("work")

    left = plain(engine, role="nobody knows it")

    assert (left, engine.enqueue("work")) == (None, first + 1)
