"""Invalid tasks: each defect has its code, and nothing is stored."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.engine import Document, Engine


def refused(engine: Engine, task: Document) -> psycopg.Error:
    with pytest.raises(psycopg.Error) as refusal:
        engine.enqueue_many([task])
    assert engine.tasks() == []
    return refusal.value


@pytest.mark.parametrize("task", [{"role": "nope"}, {"handler": "nope"}, {}, {"payload": {}}], ids=str)
def test_unknown_role_is_rejected(engine: Engine, task: Document) -> None:
    assert refused(engine, task).sqlstate == "RC031"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"payload": [1]}, "the payload is not an object but array"),
        ({"payload": "x"}, "the payload is not an object but string"),
        ({"payload": 1}, "the payload is not an object but number"),
        ({"priority": 101}, "priority 101 is not between -100 and 100"),
        ({"priority": -101}, "priority -101 is not between -100 and 100"),
        ({"scheduled_for": "infinity"}, "not within the next hundred years"),
        ({"scheduled_for": "-infinity"}, "not within the next hundred years"),
        ({"scheduled_for": "2999-01-01T00:00:00Z"}, "not within the next hundred years"),
        ({"after": 4e9}, "not within the next hundred years"),
        ({"after": 1e300}, "not within the next hundred years"),
        ({"scheduled_for": "2026-01-01T00:01:00Z", "after": 5}, "scheduled_for and after exclude each other"),
        ({"key": ""}, "the key has 0 characters, allowed are 1 to 200"),
        ({"key": "k" * 201}, "the key has 201 characters"),
        ({"dedupe_key": ""}, "the dedupe_key has 0 characters"),
        ({"dedupe_key": "d" * 201}, "the dedupe_key has 201 characters"),
        ({"max_attempts": -1}, "max_attempts must be positive, or 0 for unlimited, not -1"),
        ({"retry": {"kind": "maybe"}}, "is not a retry policy"),
        ({"retry": []}, "is not a retry policy"),
        ({"expires": 0}, "expires is 0 s, allowed are 0.001 to 4e9"),
        ({"expires": -5}, "expires is -5 s"),
        ({"expires": 1e300}, "allowed are 0.001 to 4e9"),
        ({"expires_at": "2999-01-01T00:00:00Z"}, "not within the next hundred years"),
        ({"expires_at": "-infinity"}, "not within the next hundred years"),
        ({"expires_at": "2026-01-01T00:01:00Z", "expires": 5}, "expires_at and expires exclude each other"),
        ({"expires_at": "2026-01-01T00:01:00Z", "after": 60}, "before it is due at 2026-01-01 00:01:00"),
    ],
    ids=str,
)
def test_invalid_value_is_rejected_and_named(engine: Engine, words: Document, says: str) -> None:
    error = refused(engine, {"role": "work", **words})

    assert error.sqlstate == "RC040"
    assert says in str(error)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ({"priority": "high"}, "22P02"),
        ({"priority": 1.5}, "22P02"),
        ({"priority": 3e9}, "22003"),
        ({"max_attempts": 3e9}, "22003"),
        ({"scheduled_for": "tomorrowish"}, "22007"),
        ({"scheduled_for": "2026-02-30T00:00:00Z"}, "22008"),
        ({"after": "soon"}, "22P02"),
    ],
    ids=str,
)
def test_value_of_a_wrong_type_is_rejected(engine: Engine, words: Document, code: str) -> None:
    assert refused(engine, {"role": "work", **words}).sqlstate == code


def test_role_limit_counts_the_bytes_of_the_payload(engine: Engine) -> None:
    engine.declare({"name": "small", "max_payload_bytes": 1024})
    fits = {"text": "x" * (1024 - len('{"text": ""}'))}
    engine.enqueue("small", payload=fits)

    with pytest.raises(psycopg.Error, match="the payload has 1025 bytes, the role allows 1024") as refusal:
        engine.enqueue("small", payload={"text": fits["text"] + "x"})

    assert refusal.value.sqlstate == "RC040"


def test_payload_is_measured_uncompressed(engine: Engine) -> None:
    with pytest.raises(psycopg.Error, match="the role allows 1048576"):
        engine.enqueue(payload={"text": "x" * 1048577})


def test_umlaut_counts_as_two_bytes(engine: Engine) -> None:
    engine.declare({"name": "small", "max_payload_bytes": 1024})

    with pytest.raises(psycopg.Error, match="bytes, the role allows 1024"):
        engine.enqueue("small", payload={"text": "ü" * 600})


LONGEST_CONTEXT = 4


@pytest.mark.parametrize(
    "words",
    [
        {"role": "nope"},
        {"role": "work", "priority": 101},
        {"role": "work", "priority": 101, "dedupe_key": "once"},
        {"role": "work", "priority": 101, "needs": [1]},
    ],
    ids=str,
)
def test_context_of_a_rejected_task_is_short(engine: Engine, words: Document) -> None:
    error = refused(engine, words)

    assert len((error.diag.context or "").splitlines()) <= LONGEST_CONTEXT


def test_hint_names_the_handler_that_was_passed_as_a_role(engine: Engine) -> None:
    engine.declare({"name": "work"}, handlers=[{"name": "report", "role": "work"}])

    hint = refused(engine, {"role": "report"}).diag.message_hint

    assert hint == "There is a handler of this name: pass role 'work' and handler 'report'."


def test_hint_of_an_unknown_role_names_rolecall_declare(engine: Engine) -> None:
    assert "rolecall.declare" in (refused(engine, {"role": "nope"}).diag.message_hint or "")


@pytest.mark.parametrize("more", [{}, {"dedupe_key": "once"}], ids=str)
def test_hint_of_an_invalid_task_names_the_guide(engine: Engine, more: Document) -> None:
    error = refused(engine, {"role": "work", "priority": 101, **more})

    assert "docs/guides/psql.md" in (error.diag.message_hint or "")
