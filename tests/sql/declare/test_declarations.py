"""Declaring roles and handlers."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest

from tests.sql.engine import Document, Engine

POLICIES = [
    {"kind": "sometimes"},
    {"kind": "linear", "step": -1},
    {"kind": "linear", "step": "5"},
    {"kind": "linear", "pace": 5},
    {"kind": "exponential", "jitter": 1.5},
    {"kind": "exponential", "factor": 1e6},
    {"kind": "exponential", "cap": 1e9},
    {},
    [],
    "linear",
]


def test_unset_settings_of_a_role_have_defaults(engine: Engine) -> None:
    engine.declare({"name": "plain"})

    [row] = engine.rows(
        "select lease, timeout, max_attempts, retry ->> 'kind' from rolecall.roles where name = 'plain'"
    )
    assert row == (timedelta(seconds=60), timedelta(hours=1), 5, "exponential")


def test_omitted_settings_keep_their_values(engine: Engine) -> None:
    engine.declare({"name": "a", "lease": 30, "description": "first"})
    engine.declare({"name": "a", "description": "second"})

    assert engine.rows("select lease, description from rolecall.roles where name = 'a'") == [
        (timedelta(seconds=30), "second")
    ]


def test_zero_attempts_mean_unlimited(engine: Engine) -> None:
    engine.declare({"name": "a", "max_attempts": 0})

    assert engine.value("select max_attempts from rolecall.roles where name = 'a'") is None


def test_declaring_a_handler_creates_its_role(engine: Engine) -> None:
    engine.declare(handlers=[{"name": "fetch", "role": "crawl"}, {"name": "alone"}])

    assert engine.rows("select name from rolecall.roles order by name") == [("alone",), ("crawl",), ("work",)]


def test_omitted_settings_of_a_handler_fall_back_to_its_role(engine: Engine) -> None:
    engine.declare(handlers=[{"name": "h", "role": "work", "lease": 5}])
    engine.declare(handlers=[{"name": "h", "role": "work"}])

    assert engine.rows("select lease from rolecall.handlers") == [(None,)]


def test_repeated_declaration_writes_nothing(engine: Engine) -> None:
    """A hundred starting workers declare the same."""
    roles = [{"name": "a", "lease": 30, "retry": {"kind": "none"}}]
    handlers = [{"name": "h", "role": "a", "signature": {"type": "object"}, "timeout": 3}]
    engine.declare(*roles, handlers=handlers)

    with engine.connection.transaction():
        engine.declare(*roles, handlers=handlers)
        assert engine.value("select pg_current_xact_id_if_assigned()") is None


@pytest.mark.parametrize(
    "expected",
    [
        {"name": ""},
        {"name": None},
        {"name": "1st"},
        {"name": "with space"},
        {"name": "x" * 64},
        {"lease": 0.01},
        {"lease": 90000},
        {"timeout": 0},
        {"timeout": 1e12},
        {"max_attempts": -1},
        *({"retry": policy} for policy in POLICIES),
    ],
    ids=str,
)
def test_invalid_settings_are_rejected_for_roles_and_handlers(engine: Engine, expected: Document) -> None:
    document = {"name": "a", **expected}
    for roles, handlers in (([document], []), ([], [document])):
        with pytest.raises(psycopg.Error) as refusal:
            engine.declare(*roles, handlers=handlers)

        assert refusal.value.sqlstate == "RC041"


@pytest.mark.parametrize("expected", [{"max_payload_bytes": 1}, {"keep_completed": -1}, {"keep_failed": 1e12}], ids=str)
def test_invalid_limits_of_a_role_are_rejected(engine: Engine, expected: Document) -> None:
    with pytest.raises(psycopg.Error) as refusal:
        engine.declare({"name": "a", **expected})

    assert refusal.value.sqlstate == "RC041"


def test_one_invalid_declaration_rejects_all(engine: Engine) -> None:
    with pytest.raises(psycopg.Error):
        engine.declare({"name": "good"}, {"name": "bad", "lease": -1})

    assert engine.value("select count(*) from rolecall.roles where name = 'good'") == 0
