"""The cost of lists in buffers, mostly with 200,000 finished tasks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from rolecall.testing import Clock, TestServer, clone
from tests.sql.costs import buffers
from tests.sql.engine import Engine

FINISHED = 200_000
OPEN = 10_000
DAYS = 20
# Limits for a page of 50 served by an index, and for one that scans 50,000 tasks because few match.
SERVED = 2_600
LOOKED_THROUGH = 12_000
NOW = datetime.now(UTC)
LONG_AGO = NOW - timedelta(days=10)

FILL = f"""
select rolecall.declare('[{{"name": "busy"}}, {{"name": "rare"}}]', '[]');
select rolecall.find_or_add_line('busy', 'busy', 0, false, '{{}}'), rolecall.find_or_add_line('rare', 'rare', 0, false, '{{}}');
select rolecall.make_partition('finished_tasks', 'finished_at', rolecall.clock()::date - day) from generate_series(0, {DAYS}) as day;
insert into rolecall.finished_tasks (
    id, chain_id, created_at, scheduled_for, finished_at, worker_id, line_id, chain_index, fence, attempt, state, key, payload, error,
    parent_id, parent_fence, depth
)
select
    n, n, at, at, at, n / 1000, (select id from rolecall.lines where role = case when n % 50000 = 0 then 'rare' else 'busy' end),
    0, 1, 1, (case when n % 100 = 0 then 'failed' when n % 500 = 1 then 'cancelled' else 'completed' end)::rolecall.task_state,
    'store:' || n % 5000, jsonb_build_object('n', n), case when n % 100 = 0 then 'refused' end,
    case when n % 20 = 1 then n - 1 end, case when n % 20 = 1 then 1 end, case when n % 20 = 1 then 1 end
from (
    select n, clock_timestamp() - interval '{DAYS} days' * (1 - n / {FINISHED}.0) as at
    from generate_series(1::bigint, {FINISHED}) as n
) as numbered;
insert into rolecall.tasks (id, chain_id, created_at, scheduled_for, line_id, payload, key)
select
    n, n, clock_timestamp(), clock_timestamp(), (select id from rolecall.lines where role = 'busy'), jsonb_build_object('n', n),
    case when n % 2 = 0 then 'store:' || n % 5000 end
from generate_series({FINISHED + 1}::bigint, {FINISHED + OPEN}) as n;
vacuum analyze rolecall.tasks, rolecall.finished_tasks
"""


@pytest.fixture(scope="module")
def full_database(postgres_server: TestServer, database_template: str) -> Iterator[str]:
    """One database with many tasks for all cases, which only read."""
    with clone(postgres_server, database_template) as dsn:
        with psycopg.connect(dsn, autocommit=True) as connection:
            for statement in FILL.split(";\n"):
                connection.execute(statement.encode())
        yield dsn


@pytest.fixture
def full(full_database: str) -> Iterator[Engine]:
    with psycopg.connect(full_database, autocommit=True) as connection:
        yield Engine(connection, Clock(full_database), full_database)


def cost(engine: Engine, which: Mapping[str, object], before: int | None) -> int:
    return buffers(engine, "select * from rolecall.find_tasks(%s, %s)", json.dumps(which, default=str), before)


@pytest.mark.parametrize("before", [None, FINISHED // 2], ids=["first", "deep"])
@pytest.mark.parametrize(
    "which",
    [
        {},
        {"role": "busy"},
        {"handler": "busy"},
        {"key": "store:77"},
        {"key": "nobody's"},
        {"chain_id": 1234},
        {"parent_id": 1220},
        {"roots": True},
        {"ids": [5, 77_777, FINISHED + 5]},
        *({"state": state} for state in ("completed", "failed", "cancelled", "pending", "ready", "running", "stale")),
        *({"state": state} for state in ("blocked", "waiting")),
        {"created_from": LONG_AGO, "created_to": LONG_AGO + timedelta(hours=1)},
        {"finished_from": LONG_AGO, "finished_to": LONG_AGO + timedelta(hours=1)},
        {"state": "failed", "role": "busy", "key": "store:100"},
        {"text": "refused"},
        {"text": "nowhere"},
    ],
    ids=" ".join,
)
def test_old_finished_tasks_do_not_affect_the_cost_of_a_page(
    full: Engine, which: dict[str, object], before: int | None
) -> None:
    """A list must take less than 50 ms with 2,000,000 finished rows."""
    assert cost(full, which, before) < SERVED


@pytest.mark.parametrize(
    "which", [{"role": "rare"}, {"worker_id": 4711}, {"role": "rare", "state": "completed"}], ids=str
)
def test_page_that_scans_many_rows_stops_at_its_limit(full: Engine, which: dict[str, object]) -> None:
    assert cost(full, which, None) < LOOKED_THROUGH


@pytest.mark.parametrize("state", [None, "completed", "failed", "open"])
def test_page_of_chains_that_scans_many_rows_stops_at_its_limit(full: Engine, state: str | None) -> None:
    assert buffers(full, "select * from rolecall.find_chains(%s, 'rare')", state) < LOOKED_THROUGH


def test_short_pages_of_chains_continue_until_all_are_found(full: Engine) -> None:
    before, found, pages = None, [], 0
    while pages == 0 or before is not None:
        [(ids, before)] = full.rows("select * from rolecall.find_chains(null, 'rare', null, %s)", before)
        found += ids
        pages += 1

    assert found == list(range(FINISHED, 0, -50_000))
    assert pages > 1


def test_short_pages_continue_until_all_are_found(full: Engine) -> None:
    before, found, pages = None, [], 0
    while pages == 0 or before is not None:
        [(ids, before)] = full.rows('select * from rolecall.find_tasks(\'{"role": "rare"}\', %s)', before)
        found += ids
        pages += 1

    assert found == list(range(FINISHED, 0, -50_000))
    assert pages > 1


def test_creation_range_finds_exactly_the_tasks_created_in_it(full: Engine) -> None:
    window = {"created_from": LONG_AGO, "created_to": LONG_AGO + timedelta(minutes=10)}
    [(ids, _)] = full.rows("select * from rolecall.find_tasks(%s, null, 1000)", json.dumps(window, default=str))

    query = (
        "select array(select id from rolecall.all_tasks where created_at >= %s and created_at < %s order by id desc)"
    )
    assert ids == full.value(query, *window.values())
    assert ids


def test_reading_an_unset_clock_touches_no_buffers(full: Engine) -> None:
    """The clock is read per row: the owner's rights may only be looked up when a test has set the time."""
    assert buffers(full, "select rolecall.clock() from generate_series(1, 1000)") == 0
