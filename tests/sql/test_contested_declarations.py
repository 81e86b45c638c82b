"""Declarations of several apps in one database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psycopg.types.json import Jsonb

from tests.sql.engine import Engine


def start(engine: Engine, app: str, digest: str | None, release: str = "1", handlers: Sequence[str] = ("send",)) -> int:
    worker = engine.worker()
    declared = Jsonb({"handler": dict.fromkeys(handlers, digest)})
    engine.rows("select rolecall.declare_release(%s, %s, %s, %s)", worker, app, release, declared)
    return worker


def contested(engine: Engine) -> list[Any]:
    return engine.rows("select kind, name, apps from rolecall.contested_declarations()")


def test_different_declarations_of_two_running_apps_are_listed(engine: Engine) -> None:
    start(engine, "shop", "a")
    start(engine, "mail", "b")

    assert contested(engine) == [("handler", "send", ["mail", "shop"])]


def test_equal_declarations_of_two_apps_are_not_listed(engine: Engine) -> None:
    start(engine, "shop", "a")
    start(engine, "mail", "a")

    assert contested(engine) == []


def test_declaration_without_settings_is_not_listed(engine: Engine) -> None:
    start(engine, "shop", "a")
    start(engine, "mail", None)

    assert contested(engine) == []


def test_different_releases_of_one_app_are_not_listed(engine: Engine) -> None:
    start(engine, "shop", "a")
    start(engine, "shop", "b", release="2")

    assert contested(engine) == []


def test_declaration_of_a_stopped_app_is_not_listed(engine: Engine) -> None:
    start(engine, "shop", "a")
    engine.rows("select rolecall.deregister_worker(%s)", start(engine, "mail", "b"))

    assert contested(engine) == []


def test_apps_with_one_name_and_no_common_handler_are_listed(engine: Engine) -> None:
    start(engine, "shop", "a")
    start(engine, "shop", "b", release="2", handlers=["report", "count"])

    assert contested(engine) == [("app", "shop", ["shop"])]


def test_release_that_keeps_one_handler_is_not_listed(engine: Engine) -> None:
    start(engine, "shop", "a", handlers=["send", "count"])
    start(engine, "shop", "b", release="2", handlers=["report", "count"])

    assert contested(engine) == []


def test_release_that_replaces_all_handlers_is_not_listed_after_the_earlier_one_stopped(engine: Engine) -> None:
    engine.rows("select rolecall.deregister_worker(%s)", start(engine, "shop", "a"))
    start(engine, "shop", "b", release="2", handlers=["report"])

    assert contested(engine) == []
