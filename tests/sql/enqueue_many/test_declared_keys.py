"""Declared keys of a handler apply however its tasks are enqueued: two of one store never run together."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from psycopg.types.json import Jsonb

from tests.sql.engine import START, Document, Engine
from tests.sql.families import spread
from tests.sql.refusals import refused

STORE: Document = {"store_id": 4}
FETCH: Document = {"name": "fetch", "role": "work", "key": "store:{store_id}"}
DRAFT: Document = {"handler": "fetch", "payload": STORE}
DEFAULTS: Document = {
    "$ref": "#/$defs/fetch",
    "$defs": {"fetch": {"properties": {"store_id": {"type": "integer", "default": 4}, "mode": {"type": "string"}}}},
}
IDS: Document = {"$ref": "#/$defs/f", "$defs": {"f": {"properties": {"id": {"type": "string", "format": "uuid"}}}}}


def by_enqueue(engine: Engine) -> None:
    engine.value("select rolecall.enqueue('work', %s, 'fetch')", Jsonb(STORE))


def by_batch(engine: Engine) -> None:
    engine.enqueue_many([DRAFT])


def by_dedupe(engine: Engine) -> None:
    engine.enqueue_many([DRAFT | {"dedupe_key": "d", "dedupe": {"mode": "error"}}])


def by_need(engine: Engine) -> None:
    needed = engine.enqueue("before")
    engine.enqueue_many([DRAFT | {"needs": [needed]}])
    engine.complete(engine.claim_one("before"))


def by_follow_up(engine: Engine) -> None:
    engine.enqueue("before")
    engine.complete(engine.claim_one("before"), next={"follow_ups": [DRAFT]})


def by_continuation(engine: Engine) -> None:
    engine.enqueue("before")
    engine.complete(engine.claim_one("before"), next={"continuation": DRAFT})


def by_child(engine: Engine) -> None:
    engine.enqueue("before")
    spread(engine, engine.claim_one("before"), DRAFT)


def by_spawn(engine: Engine) -> None:
    engine.enqueue("before")
    engine.spawn(engine.claim_one("before").id, DRAFT)


def by_sibling(engine: Engine) -> None:
    engine.enqueue("before")
    spread(engine, engine.claim_one("before"), {"role": "before"})
    engine.complete(engine.claim_one("before"), next={"siblings": [DRAFT]})


def by_schedule(engine: Engine) -> None:
    engine.put_schedule("nightly", handler="fetch", role="work", payload=STORE)
    engine.clock.advance(seconds=60)
    assert engine.fire_schedules()


def by_trigger(engine: Engine) -> None:
    engine.put_schedule("nightly", every=86400, handler="fetch", role="work", payload=STORE)
    engine.trigger("nightly")


def by_outsider(engine: Engine) -> None:
    engine.complete_task(engine.enqueue("before"), None, follow_ups=[DRAFT])


WAYS = [
    by_enqueue,
    by_batch,
    by_dedupe,
    by_need,
    by_follow_up,
    by_continuation,
    by_child,
    by_spawn,
    by_sibling,
    by_schedule,
    by_trigger,
    by_outsider,
]


@pytest.fixture(autouse=True)
def declared(engine: Engine) -> None:
    engine.declare({"name": "before"}, handlers=[FETCH])


@pytest.mark.parametrize("enqueue", WAYS)
def test_tasks_of_one_store_do_not_run_together_however_enqueued(
    engine: Engine, enqueue: Callable[[Engine], None]
) -> None:
    engine.enqueue_many([DRAFT])
    first = engine.claim_one("work")

    enqueue(engine)

    assert engine.claim(10, "work") == [], "the other one of the store runs"
    engine.complete(first)
    [second] = engine.claim(10, "work")
    assert engine.task(second.id).key == "store:4"


def test_explicit_key_overrides_the_declared_key(engine: Engine) -> None:
    assert engine.task(engine.enqueue_many([DRAFT | {"key": "mine"}])[0][0]).key == "mine"


def test_null_key_means_no_explicit_key(engine: Engine) -> None:
    assert engine.task(engine.enqueue_many([DRAFT | {"key": None}])[0][0]).key == "store:4"


def test_tasks_of_other_handlers_in_the_role_have_no_key(engine: Engine) -> None:
    assert engine.task(engine.enqueue(payload=STORE)).key is None


def test_each_task_of_a_batch_has_its_own_key(engine: Engine) -> None:
    ids, _ = engine.enqueue_many([DRAFT, {"role": "before"}, {"handler": "fetch", "payload": {"store_id": 5}}])

    assert [engine.task(task_id).key for task_id in ids] == ["store:4", None, "store:5"]


@pytest.mark.parametrize(
    ("template", "payload", "key"),
    [
        ("all", {}, "all"),
        ("{store_id}", {"store_id": 4}, "4"),
        ("{store_id}", {"store_id": 4.0}, "4"),
        ("{store_id}", {"store_id": 40}, "40"),
        ("{store_id}", {"store_id": "a{b}c"}, "a{b}c"),
        ("{store_id}", {"store_id": True}, "true"),
        ("{store_id}", {"store_id": None}, None),
        ("{store_id}", {}, None),
        ("{a}/{b}!", {"a": 1, "b": "x"}, "1/x!"),
        ("{a}/{b}!", {"a": 1}, None),
    ],
    ids=str,
)
def test_payload_fields_are_inserted_into_the_template(
    engine: Engine, template: str, payload: Document, key: str | None
) -> None:
    engine.declare(handlers=[FETCH | {"key": template}])

    [task_id], _ = engine.enqueue_many([{"handler": "fetch", "payload": payload}])

    assert engine.task(task_id).key == key


@pytest.mark.parametrize("expected", [{}, STORE], ids=str)
def test_missing_field_takes_the_default_of_the_handler(engine: Engine, expected: Document) -> None:
    engine.declare(handlers=[FETCH | {"signature": DEFAULTS}])

    [task_id], _ = engine.enqueue_many([{"handler": "fetch", "payload": expected}])

    assert engine.task(task_id).key == "store:4"


@pytest.mark.parametrize(
    "written",
    [
        "0B9DF9A6-4A5F-4D31-9F0E-6A7F5B1B9C11",
        "0b9df9a64a5f4d319f0e6a7f5b1b9c11",
        "0b9df9a6-4a5f-4d31-9f0e-6a7f5b1b9c11",
    ],
)
def test_uuid_gives_the_same_key_in_any_notation(engine: Engine, written: str) -> None:
    engine.declare(handlers=[FETCH | {"key": "{id}", "signature": IDS}])

    [task_id], _ = engine.enqueue_many([{"handler": "fetch", "payload": {"id": written}}])

    assert engine.task(task_id).key == "0b9df9a6-4a5f-4d31-9f0e-6a7f5b1b9c11"


@pytest.mark.parametrize(
    ("store", "words"),
    [
        ([4], "task 1: the key of fetch contains 'store_id', which is an array in this payload"),
        ({"id": 4}, "which is an object"),
        ("x" * 300, "the key has 306 characters"),
    ],
    ids=["array", "object", "long"],
)
def test_payload_without_a_valid_key_rejects_its_batch(engine: Engine, store: object, words: str) -> None:
    with refused("RC040", words):
        engine.enqueue_many([DRAFT, {"handler": "fetch", "payload": {"store_id": store}}])

    assert engine.claim(10) == []


@pytest.mark.parametrize(
    ("task", "code"), [(None, "22023"), (5, "22023"), ([], "22023"), ({"handler": "fetch", "payload": [1]}, "RC040")]
)
def test_invalid_task_is_rejected_with_the_usual_code(engine: Engine, task: object, code: str) -> None:
    with refused(code):
        engine.enqueue_many([task])


@pytest.mark.parametrize("template", ["", "x" * 201, "{", "store:{}", "a}b", "{a{b}}"])
@pytest.mark.parametrize("word", ["key", "dedupe_key"])
def test_invalid_template_is_rejected(engine: Engine, word: str, template: str) -> None:
    with refused("RC041", "is not a valid key template"):
        engine.declare(handlers=[FETCH | {word: template}])


def test_role_with_one_root_rejects_a_handler_with_a_key(engine: Engine) -> None:
    with refused("RC041", "fetch: its role work runs one root at a time"):
        engine.declare({"name": "work", "one_root": True})


def test_handler_declared_without_a_key_loses_its_key(engine: Engine) -> None:
    engine.declare(handlers=[{"name": "fetch", "role": "work"}])

    assert engine.task(engine.enqueue_many([DRAFT])[0][0]).key is None


def test_declared_dedupe_key_deduplicates_tasks(engine: Engine) -> None:
    engine.declare(handlers=[FETCH | {"dedupe_key": "store:{store_id}"}])

    [first, other], stood = engine.enqueue_many([DRAFT, {"handler": "fetch", "payload": {"store_id": 5}}])
    assert stood == []
    assert engine.enqueue_many([DRAFT]) == ([first], [first])
    assert engine.enqueue_many([DRAFT | {"dedupe_key": "mine"}])[0] != [first]
    with refused("RC045", "'store:5'"):
        engine.enqueue_many([{"handler": "fetch", "payload": {"store_id": 5}, "dedupe": {"mode": "error"}}])
    assert engine.task(other).dedupe_key == "store:5"


@pytest.mark.parametrize("mode", ["replace", "merge"])
def test_replaced_payload_changes_the_key(engine: Engine, mode: str) -> None:
    """Otherwise it would run concurrently with another task of its new store.

    Tasks that wait for the old key continue.
    """
    debounced = {"dedupe_key": "d", "dedupe": {"mode": mode}}
    [moved], _ = engine.enqueue_many([DRAFT | debounced])
    [left], _ = engine.enqueue_many([DRAFT])
    engine.enqueue_many([{"handler": "fetch", "payload": {"store_id": 5}}])

    assert engine.enqueue_many([{"handler": "fetch", "payload": {"store_id": 5}} | debounced]) == ([moved], [moved])

    assert engine.task(moved).key == "store:5"
    assert {claim.id for claim in engine.claim(10)} == {moved, left}


@pytest.mark.parametrize("store", [4, None])
def test_explicit_key_is_kept_when_the_payload_is_replaced(engine: Engine, store: int | None) -> None:
    """This includes a first payload from which no key can be made."""
    debounced = {"dedupe_key": "d", "dedupe": {"mode": "replace"}, "key": "mine"}
    [task_id], _ = engine.enqueue_many([DRAFT | {"payload": {"store_id": store}} | debounced])

    engine.enqueue_many([{"handler": "fetch", "payload": {"store_id": 5}} | debounced])

    assert engine.task(task_id).key == "mine"


def test_tasks_waiting_for_a_key_continue_if_the_next_changes_its_key(engine: Engine) -> None:
    debounced = {"dedupe_key": "d", "dedupe": {"mode": "replace"}}
    engine.enqueue_many([DRAFT])
    running = engine.claim_one()
    [moved], _ = engine.enqueue_many([DRAFT | debounced | {"priority": 5}])
    [waiting], _ = engine.enqueue_many([DRAFT])
    assert engine.claim(10) == [], "both are parked"
    engine.complete(running)

    engine.enqueue_many([{"handler": "fetch", "payload": {"store_id": 5}} | debounced])

    assert {claim.id for claim in engine.claim(10)} == {moved, waiting}


def test_child_with_the_declared_key_of_its_parent_is_rejected(engine: Engine) -> None:
    """It would wait for the key of its parent, and the parent for the child."""
    engine.enqueue_many([DRAFT])

    with refused("RC043"):
        spread(engine, engine.claim_one(), DRAFT)


def test_procedure_can_declare_its_keys(engine: Engine) -> None:
    engine.rows("create procedure public.fetch(payload jsonb, inout info jsonb) language sql as 'select info'")

    engine.rows(
        "select rolecall.declare_procedure('sql', 'public.fetch', 'work', p_key => 'store:{store_id}', "
        "p_dedupe_key => 'fetch:{store_id}')"
    )

    [task_id], _ = engine.enqueue_many([{"handler": "sql", "payload": STORE}])
    task = engine.task(task_id)
    assert (task.key, task.dedupe_key, task.created_at) == ("store:4", "fetch:4", START)
