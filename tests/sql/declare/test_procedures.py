"""Declaring stored procedures as handlers."""

from __future__ import annotations

import re

import psycopg
import pytest

from tests.sql.conftest import Session
from tests.sql.engine import Document, Engine
from tests.sql.procedures import hook, procedure, silent_hook

COLUMNS = "name, role, procedure, before_procedure, after_procedure, description"


@pytest.fixture
def shop(engine: Engine) -> Engine:
    """The engine with a procedure and a hook."""
    procedure(engine, "count", "null;")
    hook(engine, "ring", "null;")
    return engine


def stored(engine: Engine) -> list[tuple[str | None, ...]]:
    return engine.rows(f"select {COLUMNS} from rolecall.procedures")


def test_one_call_declares_a_procedure_as_handler(shop: Engine) -> None:
    shop.rows(
        "select rolecall.declare_procedure('count', 'shop.count', p_role => 'work', p_before => 'shop.ring', "
        "p_after => 'shop.ring', p_description => 'Counts stores')"
    )

    assert stored(shop) == [("count", "work", "shop.count", "shop.ring", "shop.ring", "Counts stores")]
    assert shop.enqueue(handler="count")


def test_attempt_settings_of_a_procedure_are_stored(shop: Engine) -> None:
    shop.rows(
        "select rolecall.declare_procedure('count', 'shop.count', p_max_attempts => 7, p_retry => '{\"kind\": \"none\"}', "
        "p_timeout => '2 h', p_lease => '5 min')"
    )

    [row] = shop.rows("select role, max_attempts, retry ->> 'kind', timeout::text, lease::text from rolecall.handlers")
    assert row == ("count", 7, "none", "02:00:00", "00:05:00")


def test_quoted_procedure_name_is_found_and_stored_with_quotes(engine: Engine) -> None:
    engine.rows('create schema "My Shop"')
    engine.rows(
        'create procedure "My Shop"."Count It"(payload jsonb, inout info jsonb) language sql as $$ select info $$'
    )

    engine.declare(handlers=[{"name": "count", "procedure": '"My Shop"."Count It"'}])

    assert stored(engine)[0][2] == '"My Shop"."Count It"'


@pytest.mark.parametrize(
    ("expected", "problem"),
    [
        ({"procedure": "shop.missing"}, "there is no procedure shop.missing(payload jsonb, inout info jsonb)"),
        ({"procedure": "count"}, "include its schema in the name"),
        ({"procedure": "shop.count(jsonb, jsonb)"}, "there is no procedure"),
        ({"procedure": "shop.count; drop table rolecall.tasks"}, "there is no procedure"),
        ({"procedure": ""}, "there is no procedure"),
        ({"procedure": "shop.chime"}, "there is no procedure shop.chime(payload jsonb, inout info jsonb), nor"),
        ({"procedure": "shop.answer"}, "there is no procedure shop.answer(payload jsonb, inout info jsonb)"),
        ({"procedure": "shop.count", "before": "shop.count"}, "there is no procedure shop.count(payload jsonb), nor"),
        (
            {"procedure": "shop.count", "after": "shop.missing"},
            "there is no procedure shop.missing(payload jsonb), nor",
        ),
        ({"before": "shop.ring"}, "only SQL handlers can have hooks"),
    ],
    ids=str,
)
def test_unsuitable_procedure_is_rejected(shop: Engine, expected: Document, problem: str) -> None:
    silent_hook(shop, "chime", "null;")
    shop.rows("create function shop.answer(payload jsonb, inout info jsonb) language sql as $$ select info $$")

    with pytest.raises(psycopg.Error) as refusal:
        shop.declare(handlers=[{"name": "count", **expected}])

    assert refusal.value.sqlstate == "RC041"
    assert problem in str(refusal.value)


def test_handler_can_take_the_payload_only_and_a_hook_no_arguments(shop: Engine) -> None:
    silent_hook(shop, "chime", "null;")

    shop.declare(handlers=[{"name": "count", "procedure": "shop.ring", "before": "shop.chime", "after": "shop.ring"}])

    assert stored(shop) == [("count", "count", "shop.ring", "shop.chime", "shop.ring", "")]


@pytest.mark.parametrize(
    ("expected", "problem"),
    [
        ({"procedure": "shop.ring"}, "ambiguous: there are (payload jsonb, inout info jsonb) and (payload jsonb)"),
        ({"procedure": "shop.count", "before": "shop.ring"}, "ambiguous: there are (payload jsonb) and ()"),
    ],
    ids=["handler", "hook"],
)
def test_ambiguous_procedure_name_is_rejected(shop: Engine, expected: Document, problem: str) -> None:
    """The error explains how to resolve the ambiguity."""
    procedure(shop, "ring", "null;")
    silent_hook(shop, "ring", "null;")

    with pytest.raises(psycopg.Error, match=re.escape(problem)) as refusal:
        shop.declare(handlers=[{"name": "count", **expected}])

    assert refusal.value.sqlstate == "RC041"
    assert "drop or rename one of them" in str(refusal.value)


def test_repeated_declaration_writes_nothing(shop: Engine) -> None:
    """A hundred starting workers declare the same."""
    document = {"name": "count", "procedure": "shop.count", "before": "shop.ring"}
    shop.declare(handlers=[document])

    with shop.connection.transaction():
        shop.declare(handlers=[document])
        assert shop.value("select pg_current_xact_id_if_assigned()") is None


def test_handler_declared_as_a_function_again_has_no_procedure(shop: Engine) -> None:
    shop.declare(handlers=[{"name": "count", "procedure": "shop.count"}])
    shop.declare(handlers=[{"name": "count", "signature": {"type": "object"}}])

    assert stored(shop) == []


def test_workers_are_notified_of_a_new_procedure(shop: Engine, session: Session) -> None:
    listener = session()
    listener.rows("listen rolecall_handlers")

    shop.declare(handlers=[{"name": "count", "procedure": "shop.count"}])

    assert [note.channel for note in listener.connection.notifies(timeout=30, stop_after=1)] == ["rolecall_handlers"]


def test_one_root_setting_of_a_role_is_kept(engine: Engine) -> None:
    engine.declare({"name": "work", "one_root": True})
    engine.declare({"name": "work"})

    assert engine.value("select one_root from rolecall.roles where name = 'work'") is True


def test_one_procedure_can_serve_several_handlers(shop: Engine) -> None:
    shop.declare(handlers=[{"name": name, "procedure": "shop.count"} for name in ("left", "right")])

    assert [row[0] for row in stored(shop)] == ["left", "right"]
