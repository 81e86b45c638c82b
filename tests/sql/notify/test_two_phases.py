"""A transaction prepared for a two-phase commit can enqueue, finish and cancel."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.sql.engine import Connection, Engine

QUIET = "set local rolecall.notify = off"
CALLS = (
    "select rolecall.enqueue('work')",
    "select rolecall.cancel(array[{running}])",
    "select rolecall.complete_task({running})",
    "select rolecall.pause_role('work')",
    "select rolecall.command_worker({worker}, 'drain')",
    "select rolecall.declare_procedure('count', 'public.count_up', 'work')",
)


@pytest.fixture
def facts(live_engine: Engine) -> dict[str, int]:
    """A running task, and its worker, which is marked as idle."""
    if live_engine.value("select current_setting('max_prepared_transactions')") == "0":
        pytest.skip("the server allows no prepared transactions")
    live_engine.rows("create procedure count_up(payload jsonb, inout info jsonb) language plpgsql as 'begin end'")
    live_engine.enqueue()
    claim = live_engine.claim_one()
    live_engine.rows("select rolecall.mark_idle(%s, true)", claim.worker_id)
    return {"running": claim.id, "worker": claim.worker_id}


@pytest.fixture
def preparing(live_engine: Engine) -> Iterator[Connection]:
    with psycopg.connect(live_engine.database) as connection:
        connection.tpc_begin("the test's")
        yield connection
        connection.tpc_rollback()


@pytest.mark.parametrize("call", CALLS)
def test_transaction_without_notifications_can_be_prepared(
    facts: dict[str, int], preparing: Connection, call: str
) -> None:
    preparing.execute(QUIET)
    preparing.execute(call.format(**facts).encode())

    preparing.tpc_prepare()


@pytest.mark.usefixtures("facts")
def test_transaction_with_notifications_cannot_be_prepared(live_engine: Engine) -> None:
    with psycopg.connect(live_engine.database, autocommit=True) as connection:
        connection.execute("begin")
        connection.execute("select rolecall.enqueue('work')")

        with pytest.raises(psycopg.errors.FeatureNotSupported, match="NOTIFY"):
            connection.execute("prepare transaction 'the test''s'")


@pytest.mark.usefixtures("facts")
def test_invalid_notify_setting_is_rejected(live_engine: Engine) -> None:
    live_engine.rows("set rolecall.notify = 'perhaps'")

    with pytest.raises(psycopg.errors.InvalidTextRepresentation, match="perhaps"):
        live_engine.enqueue()
