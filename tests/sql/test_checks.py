"""The tables spell the state machine: whoever writes past the functions is refused by name."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.engine import Engine

RUNNING = "worker_id = 1, claimed_at = created_at, lease_until = created_at, deadline_at = created_at"

# table, constraint, what would break it
ILLEGAL = [
    ("tasks", "only_open_states_stand_here", "state = 'completed'"),
    ("tasks", "running_iff_owned_leased_and_bounded", "state = 'running', attempt = 1, fence = 1"),
    ("tasks", "running_iff_owned_leased_and_bounded", "lease_until = created_at"),
    (
        "tasks",
        "running_iff_owned_leased_and_bounded",
        f"state = 'running', attempt = 1, fence = 1, {RUNNING.replace('lease_until = created_at, ', '')}",
    ),
    ("tasks", "only_running_or_waiting_tasks_have_started", "started_at = created_at"),
    ("tasks", "only_running_tasks_await_their_cancellation", "cancel_requested_at = created_at"),
    ("tasks", "a_claim_counts_an_attempt", f"state = 'running', fence = 1, {RUNNING}"),
    ("tasks", "a_claim_counts_an_attempt", f"state = 'running', attempt = 1, {RUNNING}"),
    ("tasks", "attempts_stay_within_max_attempts", "attempt = max_attempts + 1"),
    ("tasks", "attempts_stay_within_max_attempts", "attempt = -1"),
    ("tasks", "only_pending_keyed_tasks_are_parked", "parked = true"),
    ("tasks", "holds_a_slot_iff_keyed_and_active", "key_slot = 1"),
    ("tasks", "holds_a_slot_iff_keyed_and_active", f"key = 'k', state = 'running', attempt = 1, fence = 1, {RUNNING}"),
    ("tasks", "payload_is_an_object", "payload = '[]'"),
    ("finished_tasks", "only_terminal_states_stand_here", "state = 'running'"),
    ("finished_tasks", "a_failed_task_says_why", "state = 'failed'"),
    ("roles", "name_is_a_word", "name = 'two words'"),
    ("roles", "lease_is_between_a_tenth_of_a_second_and_a_day", "lease = '1 ms'"),
    ("roles", "timeout_is_positive", "timeout = '0'"),
    ("roles", "max_attempts_is_positive_or_null_for_unlimited", "max_attempts = 0"),
    ("roles", "retry_is_a_policy", """retry = '{"kind": "maybe"}'"""),
    ("roles", "max_payload_bytes_is_between_1_kb_and_64_mb", "max_payload_bytes = 1"),
    ("handlers", "name_is_a_word", "name = ''"),
    ("handlers", "lease_is_between_a_tenth_of_a_second_and_a_day", "lease = '2 days'"),
    ("handlers", "timeout_is_positive", "timeout = '-1 s'"),
    ("handlers", "max_attempts_is_positive_or_zero_for_unlimited", "max_attempts = -1"),
    ("handlers", "retry_is_a_policy", """retry = '{"kind": "maybe"}'"""),
    ("lines", "priority_is_between_minus_100_and_100", "priority = 101"),
    ("keys", "capacity_is_positive", "capacity = 0"),
    ("workers", "slots_are_positive", "slots = 0"),
    ("workers", "a_stopped_worker_is_not_idle", "stopped_at = started_at, idle = true"),
    ("server_epoch", "there_is_only_one_row", "only_row = false"),
    ("schedules", "name_is_short", "name = ''"),
    ("schedules", "every_is_between_a_second_and_ten_years", "every = '0.5 s'"),
    ("schedules", "payload_is_an_object", "payload = '1'"),
    ("schedules", "priority_is_between_minus_100_and_100", "priority = -101"),
]


@pytest.fixture
def full(engine: Engine) -> Engine:
    """A pool with one row in every table."""
    engine.declare(handlers=[{"name": "h", "role": "work"}])
    engine.put_schedule(key="k")
    engine.worker()
    engine.enqueue(key="k")
    engine.complete(engine.claim_one())
    engine.enqueue()
    return engine


@pytest.mark.parametrize(("table", "constraint", "change"), ILLEGAL)
def test_an_illegal_change_is_refused_by_the_constraints_name(
    full: Engine, table: str, constraint: str, change: str
) -> None:
    """Covers invariants 6 and 7: no reachable state without an owner, a lease and a bound."""
    with pytest.raises(psycopg.errors.CheckViolation) as refusal:
        full.rows(f"update rolecall.{table} set {change}")

    assert refusal.value.diag.constraint_name == constraint


def test_every_check_has_its_illegal_change(engine: Engine) -> None:
    stored = engine.rows(
        """select distinct conrelid::regclass::text, conname from pg_constraint
        where contype = 'c' and connamespace = 'rolecall'::regnamespace and coninhcount = 0"""
    )

    assert {(str(table).removeprefix("rolecall."), name) for table, name in stored} == {
        (table, constraint) for table, constraint, _ in ILLEGAL
    }


def test_no_foreign_key_leaves_a_table(engine: Engine) -> None:
    """Covers F37: a foreign key of the hot table costs multixacts and lock cascades."""
    assert (
        engine.rows("select conname from pg_constraint where contype = 'f' and connamespace = 'rolecall'::regnamespace")
        == []
    )


def test_ids_are_wide(engine: Engine) -> None:
    """Covers F67."""
    narrow = engine.rows(
        """select attrelid::regclass::text, attname from pg_attribute
        join pg_class on pg_class.oid = attrelid
        where relnamespace = 'rolecall'::regnamespace and relkind in ('r', 'p') and attnum > 0
            and (attname = 'id' or attname ~ '_id$') and atttypid <> 'bigint'::regtype and attname not in ('line_id')
            and attrelid <> 'rolecall.lines'::regclass"""
    )

    assert narrow == []


def test_every_moment_knows_its_zone(engine: Engine) -> None:
    """Covers F58."""
    assert (
        engine.rows(
            """select table_name, column_name from information_schema.columns
        where table_schema = 'rolecall' and data_type = 'timestamp without time zone'"""
        )
        == []
    )


def test_every_function_pins_its_search_path_or_is_meant_to_be_inlined(engine: Engine) -> None:
    """Covers invariant 26."""
    loose = engine.rows(
        """select proname from pg_proc
        where pronamespace = 'rolecall'::regnamespace and not coalesce(proconfig::text, '') like '%%search_path=%%'"""
    )

    assert loose == [("task_problem",)]


def test_heartbeats_are_hot_updates(engine: Engine) -> None:
    """Covers F36: no index has the lease, so that a renewal touches no index."""
    indexed = engine.rows(
        """select attname from pg_index join pg_attribute on attrelid = indrelid and attnum = any(indkey)
        where indrelid = 'rolecall.tasks'::regclass and attname in ('lease_until', 'started_at', 'info', 'deadline_at')"""
    )

    assert indexed == []
