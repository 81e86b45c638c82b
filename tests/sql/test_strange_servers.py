"""Servers with unusual settings: revoked functions, and publications of all tables."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from tests.sql.engine import Engine

WAL_FUNCTIONS = ("pg_current_wal_lsn()", "pg_walfile_name(pg_lsn)", "pg_current_wal_insert_lsn()")
DAY = 86400


@pytest.fixture
def tenant(engine: Engine) -> Iterator[Engine]:
    """The engine as a user who cannot read the log position, as on Aurora."""
    name = f"tenant_{uuid4().hex[:12]}"
    for function in WAL_FUNCTIONS:
        engine.rows(f"revoke execute on function {function} from public")
    engine.rows(f"create role {name}")
    for kind in ("tables", "sequences"):
        engine.rows(f"grant all on all {kind} in schema rolecall to {name}")
    engine.rows(f"grant usage on schema rolecall to {name}")
    engine.rows(f"set role {name}")
    yield engine
    engine.rows("reset role")
    engine.rows(f"drop owned by {name}; drop role {name}")


def test_worker_registers_without_access_to_the_log_position(tenant: Engine) -> None:
    assert tenant.worker() > 0


def test_lost_task_is_rescued_without_access_to_the_log_position(tenant: Engine) -> None:
    tenant.enqueue()
    claim = tenant.claim_one()
    assert tenant.rescue() == {}
    tenant.clock.advance(days=1)

    assert list(tenant.rescue()) == [claim.id]
    assert "rescue_from" in tenant.value("select rolecall.why(%s)::text", tenant.enqueue())


@pytest.fixture
def published(engine: Engine) -> Engine:
    """A database with three finished tasks whose tables are all published, as for change data capture."""
    engine.rows("select rolecall.make_partitions()")
    for _ in range(2):
        engine.enqueue()
        engine.complete(engine.claim_one())
    engine.enqueue()
    engine.fail(engine.claim_one(), final=True)
    engine.rows("set client_min_messages = error")
    engine.rows("create publication everything for all tables")
    return engine


def test_published_task_can_be_retried(published: Engine) -> None:
    failed = published.tasks()[-1].id

    assert published.retry(failed) == {failed: "pending"}


def test_published_task_can_be_deleted(published: Engine) -> None:
    done = published.tasks()[0].id

    published.rows("select rolecall.delete_task(%s)", done)

    assert done not in {task.id for task in published.tasks()}


def test_published_counts_are_rolled_up(published: Engine) -> None:
    published.clock.advance(seconds=60)
    for _ in range(2):
        published.rows("select rolecall.roll_up_counts('0 s')")
        published.enqueue()
        published.complete(published.claim_one())
        published.clock.advance(seconds=60)

    assert published.value("select sum(number)::int from rolecall.finished_counts") > 0


def test_published_tasks_and_events_are_pruned_row_by_row(published: Engine) -> None:
    published.declare({"name": "work", "keep_completed": DAY, "keep_failed": 300 * DAY})
    published.clock.advance(days=30)
    published.rows("insert into rolecall.task_events_default select 1, '2020-01-01', 'told', 1")

    pruned = published.prune()

    assert (pruned["finished_tasks"], pruned["task_events"]) == (2, 1)
