"""Schedules that an app declares at each start, and manual changes to them."""

from __future__ import annotations

from typing import Any

from psycopg.types.json import Jsonb

from tests.sql.engine import Engine


def ensure(engine: Engine, **words: object) -> int:
    document = {"name": "tick", "role": "work", "every": 60, **words}
    stored: int = engine.value("select rolecall.ensure_schedules(%s)", Jsonb([document]))
    return stored


def stored(engine: Engine, columns: str) -> tuple[Any, ...]:
    [row] = engine.rows(f"select {columns} from rolecall.schedules")
    return row


def test_new_declaration_replaces_the_old_one(engine: Engine) -> None:
    ensure(engine, key="k", priority=3)

    assert ensure(engine, every=120) == 1
    assert stored(engine, "extract(epoch from every)::int, key, priority, edited_at") == (120, None, 0, None)


def test_repeated_declaration_changes_nothing(engine: Engine) -> None:
    ensure(engine)

    assert ensure(engine) == 0
    assert stored(engine, "revision") == (1,)


def test_manual_changes_survive_a_new_declaration(engine: Engine) -> None:
    ensure(engine)
    engine.rows("""select rolecall.put_schedule('{"name": "tick", "priority": 9}')""")

    assert ensure(engine, every=120) == 0
    assert stored(engine, "extract(epoch from every)::int, priority") == (60, 9)


def test_manually_created_schedule_is_not_overwritten(engine: Engine) -> None:
    engine.put_schedule(every=7200)

    assert ensure(engine) == 0
    assert stored(engine, "extract(epoch from every)::int, declared") == (7200, None)


def test_declared_first_run_is_not_repeated(engine: Engine) -> None:
    first = engine.clock.now().isoformat()
    ensure(engine, first_run_at=first)
    engine.fire_schedules()
    planned = stored(engine, "next_run_at")

    ensure(engine, first_run_at=first, priority=1)

    assert stored(engine, "next_run_at") == planned


def test_renamed_schedule_keeps_its_manual_settings(engine: Engine) -> None:
    ensure(engine, name="old")
    engine.rows("""select rolecall.put_schedule('{"name": "old", "every": 7200, "enabled": false}')""")
    [before] = stored(engine, "id")[:1]

    ensure(engine, name="new", formerly="old")
    ensure(engine, name="new", formerly="old")

    assert stored(engine, "id, name, extract(epoch from every)::int, enabled") == (before, "new", 7200, False)


def test_renamed_schedule_without_manual_changes_takes_the_new_declaration(engine: Engine) -> None:
    ensure(engine, name="old")

    ensure(engine, name="new", formerly="old", every=120)

    assert stored(engine, "name, extract(epoch from every)::int") == ("new", 120)


def test_declaration_of_the_previous_release_does_not_restore_the_old_name(engine: Engine) -> None:
    ensure(engine, name="old")
    engine.rows("""select rolecall.put_schedule('{"name": "old", "priority": 9}')""")
    ensure(engine, name="new", formerly="old")

    assert ensure(engine, name="old") == 0
    assert stored(engine, "name, priority") == ("new", 9)


def test_schedule_is_not_renamed_if_the_new_name_exists(engine: Engine) -> None:
    ensure(engine, name="new")
    ensure(engine, name="old")

    ensure(engine, name="new", formerly="old")

    assert engine.rows("select name from rolecall.schedules order by name") == [("new",), ("old",)]
