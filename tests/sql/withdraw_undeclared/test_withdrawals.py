"""Declarations are withdrawn when no running release contains them."""

from __future__ import annotations

from typing import Any

import pytest
from psycopg.types.json import Jsonb

from tests.sql.engine import Engine

NIGHTLY = {"name": "nightly", "handler": "add", "role": "work", "every": 60}


@pytest.fixture
def shop(engine: Engine) -> Engine:
    """A pool in which a schedule, a handler, a role and the capacity of a key are declared."""
    engine.declare({"name": "sums", "lease": 5}, handlers=[{"name": "add", "role": "sums"}])
    engine.rows("select rolecall.ensure_schedules(%s)", Jsonb([NIGHTLY]))
    engine.rows("""select rolecall.declare_key_capacities('{"shop:*": 3, "till": 2}')""")
    return engine


def start(engine: Engine, release: str, app: str = "shop", **names: list[str]) -> int:
    """Start a worker of a release that declares these names."""
    worker, declared = engine.worker(), {kind: dict.fromkeys(names[kind]) for kind in names}
    engine.rows("select rolecall.declare_release(%s, %s, %s, %s)", worker, app, release, Jsonb(declared))
    return worker


def withdraw(engine: Engine) -> list[Any]:
    return engine.rows("select app, kind, name from rolecall.withdraw_undeclared()")


def stop(engine: Engine, worker: int) -> None:
    engine.rows("select rolecall.deregister_worker(%s)", worker)


def schedule(engine: Engine) -> Any:
    [row] = engine.rows("select enabled, withdrawn from rolecall.schedules where name = 'nightly'")
    return row


def test_schedule_is_disabled_when_the_only_live_release_does_not_declare_it(shop: Engine) -> None:
    stop(shop, start(shop, "1", schedule=["nightly"]))
    start(shop, "2", schedule=[])

    assert withdraw(shop) == [("shop", "schedule", "nightly")]
    assert schedule(shop) == (False, "app shop no longer declares it")


def test_nothing_is_withdrawn_while_two_releases_run(shop: Engine) -> None:
    start(shop, "1", schedule=["nightly"])
    start(shop, "2", schedule=[])

    assert withdraw(shop) == []
    assert schedule(shop) == (True, None)


def test_nothing_is_withdrawn_while_no_worker_of_the_app_runs(shop: Engine) -> None:
    stop(shop, start(shop, "1", schedule=["nightly"]))
    start(shop, "1", app="mail", schedule=[])

    assert withdraw(shop) == []


def test_declaration_of_another_live_app_counts(shop: Engine) -> None:
    stop(shop, start(shop, "1", schedule=["nightly"]))
    start(shop, "2", schedule=[])
    start(shop, "1", app="mail", schedule=["nightly"])

    assert withdraw(shop) == []


def test_manually_edited_schedule_stays_enabled(shop: Engine) -> None:
    stop(shop, start(shop, "1", schedule=["nightly"]))
    shop.put_schedule(name="nightly", every=30)
    start(shop, "2", schedule=[])

    withdraw(shop)

    assert schedule(shop) == (True, "app shop no longer declares it")


def test_manually_stored_schedule_is_not_withdrawn(shop: Engine) -> None:
    shop.put_schedule(name="by-hand")
    stop(shop, start(shop, "1", schedule=["by-hand"]))
    start(shop, "2", schedule=[])

    withdraw(shop)

    assert shop.rows("select enabled, withdrawn from rolecall.schedules where name = 'by-hand'") == [(True, None)]


def test_schedule_is_enabled_again_when_a_release_declares_it_again(shop: Engine) -> None:
    stop(shop, start(shop, "1", schedule=["nightly"]))
    start(shop, "2", schedule=[])
    withdraw(shop)

    shop.rows("select rolecall.ensure_schedules(%s)", Jsonb([NIGHTLY]))

    assert schedule(shop) == (True, None)


def test_withdrawal_happens_once_and_is_audited(shop: Engine) -> None:
    stop(shop, start(shop, "1", schedule=["nightly"]))
    start(shop, "2", schedule=[])

    assert [len(withdraw(shop)), len(withdraw(shop))] == [1, 0]
    assert shop.rows("select actor, via, action, detail from rolecall.audit_log") == [
        ("rolecall", "system", "declarations.withdraw", {"app": "shop", "kind": "schedule", "name": "nightly"})
    ]


def test_capacities_of_keys_are_withdrawn(shop: Engine) -> None:
    shop.rows("select rolecall.set_key_capacity('shop:*', 9)")
    stop(shop, start(shop, "1", key=["shop:*", "till"]))
    start(shop, "2", key=[])

    withdraw(shop)

    assert shop.rows("select prefix, declared, capacity from rolecall.key_patterns") == [("shop:", None, 9)]
    assert shop.rows("select declared from rolecall.keys where key = 'till'") == [(None,)]


def test_role_has_default_settings_until_it_is_declared_again(shop: Engine) -> None:
    stop(shop, start(shop, "1", role=["sums"]))
    start(shop, "2", role=[])
    lease = "select extract(epoch from lease)::int, withdrawn is null from rolecall.roles where name = 'sums'"

    withdraw(shop)
    assert shop.rows(lease) == [(60, False)]

    shop.declare({"name": "sums", "lease": 5})
    assert shop.rows(lease) == [(5, True)]


def test_handler_is_marked_until_it_is_declared_again(shop: Engine) -> None:
    stop(shop, start(shop, "1", handler=["add"]))
    start(shop, "2", handler=[])
    reason = "select withdrawn from rolecall.handlers where name = 'add'"

    withdraw(shop)
    assert shop.value(reason) == "app shop no longer declares it"

    shop.declare(handlers=[{"name": "add", "role": "sums"}])
    assert shop.value(reason) is None


def test_stopped_releases_are_deleted(shop: Engine) -> None:
    for release in ("1", "2", "3"):
        stop(shop, start(shop, release, schedule=["nightly"]))
    start(shop, "4", schedule=["nightly"])

    withdraw(shop)

    assert shop.rows("select release from rolecall.declarations") == [("4",)]
