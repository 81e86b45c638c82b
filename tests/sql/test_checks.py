"""The constraints of the tables enforce the state machine: an illegal write is rejected by name."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from rolecall.db.connect import connect
from rolecall.testing import Clock, TestServer
from rolecall.testing.databases import clone
from tests.sql.engine import START, WORK, Engine

SLOT = "holds_a_slot_iff_keyed_and_active_but_may_keep_it_between_steps"
RUNNING = "worker_id = 1, claimed_at = created_at, lease_until = created_at, deadline_at = created_at"

# Table, constraint, and a change that violates it.
ILLEGAL = [
    ("tasks", "only_open_states", "state = 'completed'"),
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
    ("tasks", SLOT, "key_slot = 1"),
    ("tasks", SLOT, f"key = 'k', state = 'running', attempt = 1, fence = 1, {RUNNING}"),
    ("tasks", "blocked_iff_it_needs_something", "open_needs = 1"),
    ("tasks", "open_needs_are_counted_from_one", "state = 'blocked', open_needs = 0"),
    ("tasks", "waiting_only_for_children", "state = 'waiting'"),
    ("tasks", "open_children_are_counted_from_one", "open_children = 0"),
    ("tasks", "a_child_knows_which_claim_spawned_it", "parent_id = 1"),
    ("tasks", "timeout_is_positive", "timeout = '0 s'"),
    ("tasks", "payload_is_an_object", "payload = '[]'"),
    ("finished_tasks", "only_terminal_states", "state = 'running'"),
    ("finished_tasks", "failed_task_has_an_error", "state = 'failed'"),
    ("roles", "name_is_a_word", "name = 'two words'"),
    ("roles", "lease_is_between_a_tenth_of_a_second_and_a_day", "lease = '1 ms'"),
    ("roles", "timeout_is_positive", "timeout = '0'"),
    ("roles", "max_attempts_is_positive_or_null_for_unlimited", "max_attempts = 0"),
    ("roles", "retry_is_a_policy", """retry = '{"kind": "maybe"}'"""),
    ("roles", "max_payload_bytes_is_between_1_kb_and_64_mb", "max_payload_bytes = 1"),
    ("roles", "only_a_paused_role_has_pause_details", "paused_by = 'ada'"),
    ("roles", "a_pause_ends_after_it_began", "paused_at = now(), paused_until = now() - interval '1 s'"),
    ("handlers", "name_is_a_word", "name = ''"),
    ("handlers", "lease_is_between_a_tenth_of_a_second_and_a_day", "lease = '2 days'"),
    ("handlers", "timeout_is_positive", "timeout = '-1 s'"),
    ("handlers", "expires_is_positive", "expires = '0 s'"),
    ("handlers", "max_attempts_is_positive_or_zero_for_unlimited", "max_attempts = -1"),
    ("handlers", "retry_is_a_policy", """retry = '{"kind": "maybe"}'"""),
    ("lines", "priority_is_between_minus_100_and_100", "priority = 101"),
    ("keys", "capacities_are_valid", "capacity = -1"),
    ("key_patterns", "capacities_are_positive", "declared = 0"),
    ("key_patterns", "has_a_capacity", "declared = null, capacity = null"),
    ("error_groups", "state_is_known", "state = 'odd'"),
    ("bulk_actions", "action_is_a_verb", "action = 'sing', rate = null"),
    ("bulk_actions", "filter_is_an_object", "filter = '{}'"),
    ("bulk_actions", "only_retries_have_a_rate", "action = 'cancel', rate = 1"),
    ("bulk_actions", "state_is_one_of_a_bulk_action", "state = 'odd'"),
    ("bulk_actions", "due_iff_unfinished", "finished_at = next_at"),
    ("saved_views", "name_is_short", "name = repeat('a', 61)"),
    ("saved_views", "query_is_short", "query = ''"),
    ("workers", "slots_are_positive", "slots = 0"),
    ("workers", "command_is_known", "command = 'sing', commanded_at = started_at"),
    ("workers", "a_command_has_a_time", "command = 'drain'"),
    ("server_epoch", "has_only_one_row", "only_row = false"),
    ("counted_until", "has_only_one_row", "only_row = false"),
    ("history_until", "has_only_one_row", "only_row = false"),
    ("unpark_pass", "has_only_one_row", "only_row = false"),
    ("schedules", "name_is_short", "name = ''"),
    ("schedules", "every_is_between_a_second_and_ten_years", "every = '0.5 s'"),
    ("schedules", "payload_is_an_object", "payload = '1'"),
    ("schedules", "priority_is_between_minus_100_and_100", "priority = -101"),
    ("schedules", "either_an_interval_or_a_cron_expression", "cron = '@daily'"),
    ("schedules", "either_an_interval_or_a_cron_expression", "every = null"),
    ("schedules", "misfire_is_a_policy", "misfire = 'some'"),
    ("schedules", "overlap_is_a_policy", "overlap = 'one'"),
    ("schedules", "jitter_is_at_most_a_day", "jitter = '25 hours'"),
    ("schedule_runs", "outcome_is_known", "outcome = 'fine'"),
    ("schedule_runs", "only_a_refused_run_has_an_error", "error = 'none'"),
    ("audit_log", "via_is_a_shell", "via = 'telex'"),
    ("audit_log", "detail_is_an_object", "detail = '[]'"),
    ("retention", "keep_is_at_least_a_day", "keep = '1 hour'"),
    ("api_keys", "name_is_short", "name = ''"),
    ("api_keys", "digest_is_sha256", "digest = 'short'"),
    ("people", "name_is_short", "name = repeat('a', 101)"),
    ("sessions", "digest_is_sha256", "digest = 'short'"),
    ("known_browsers", "digest_is_sha256", "digest = 'short'"),
    ("declarations", "kind_is_known", "kind = 'wish'"),
    ("duties", "only_an_unfinished_duty_has_an_error", "error = 'x', unfinished_since = null"),
]


@pytest.fixture(scope="module")
def full(postgres_server: TestServer, database_template: str) -> Iterator[Engine]:
    """A pool with one row in every table, for all tests: rejected statements leave it as it is."""
    with clone(postgres_server, database_template) as database, connect(database, "test") as connection:
        clock = Clock(database)
        clock.follow(connection)
        clock.set(START)
        engine = Engine(connection, clock, database)
        engine.declare(WORK)
        fill(engine)
        yield engine


def fill(engine: Engine) -> None:
    engine.declare(handlers=[{"name": "h", "role": "work"}])
    engine.put_schedule(key="k")
    engine.fire_schedules()
    engine.complete(engine.claim_one())
    engine.rows("select rolecall.declare_release(%s, 'shop', '1', '{\"key\": {\"k\": null}}')", engine.worker())
    engine.rows("select rolecall.set_key_capacity('k*', 1)")
    engine.enqueue(key="k")
    engine.complete(engine.claim_one())
    engine.fail_task(engine.enqueue())
    engine.rows("select rolecall.group_failures()")
    engine.rows("""select rolecall.start_bulk_action('retry', '{"role": "work"}', 'ada')""")
    engine.rows("select rolecall.save_view('late', 'age>1h', 'ada', 100)")
    engine.enqueue()
    engine.rows(
        """with ada as materialized (select rolecall.add_person('ada', 'read', 'hash'))
        select rolecall.record_audit('ada', 'cli', null, 'test', '{}', null),
            rolecall.create_api_key('deploy', 'read', 'rk_1', sha256('1'), null),
            rolecall.open_session((table ada), 'hash', sha256('2'), sha256('ada'), '1 h', null),
            rolecall.welcome_browser((table ada), sha256('ada'), sha256('here'), null, sha256('3')),
            rolecall.take_duty('rescue', 5, 'w')"""
    )
    # The audit log rejects each change of a row before its constraints are checked.
    engine.rows("alter table rolecall.audit_log disable trigger user")


@pytest.mark.parametrize(("table", "constraint", "change"), ILLEGAL)
def test_illegal_change_violates_the_named_constraint(full: Engine, table: str, constraint: str, change: str) -> None:
    with pytest.raises(psycopg.errors.CheckViolation) as refusal:
        full.rows(f"update rolecall.{table} set {change}")

    assert refusal.value.diag.constraint_name == constraint


def test_every_check_constraint_has_an_illegal_change(engine: Engine) -> None:
    stored = engine.rows(
        r"""select distinct conrelid::regclass::text, conname from pg_constraint
        where contype = 'c' and connamespace = 'rolecall'::regnamespace and coninhcount = 0 and conname <> 'is_sound'
        union all
        select 'rolecall.tasks', rule[1] from pg_proc, regexp_matches(prosrc, $$then '(\w+)'$$, 'g') as rule
        where oid = 'rolecall.is_sound'::regproc"""
    )

    assert {(str(table).removeprefix("rolecall."), name) for table, name in stored} == {
        (table, constraint) for table, constraint, _ in ILLEGAL
    }


def test_rejected_task_is_named_in_the_detail(full: Engine) -> None:
    with pytest.raises(psycopg.errors.CheckViolation) as refusal:
        full.rows("update rolecall.tasks set timeout = '0 s'")

    assert refusal.value.diag.message_primary == (
        'new row for relation "tasks" violates check constraint "timeout_is_positive"'
    )
    assert refusal.value.diag.message_detail == f"It is task {full.value('select min(id) from rolecall.tasks')}."


def test_every_constraint_is_validated(engine: Engine) -> None:
    """A migration adds a constraint as not valid to avoid waiting, and validates it in the next step."""
    assert engine.value("select count(*) from pg_constraint where not convalidated") == 0


def test_every_table_has_a_replica_identity_for_deletes(engine: Engine) -> None:
    """With `create publication for all tables`, the server rejects deletes from tables without a replica identity."""
    nameless = engine.rows(
        """select relname from pg_class
        where relnamespace = 'rolecall'::regnamespace and relkind in ('r', 'p') and relpersistence = 'p' and relreplident <> 'f'
            and not exists (select from pg_index where indrelid = pg_class.oid and indisprimary)"""
    )

    assert nameless == []


def test_task_tables_have_no_foreign_keys(engine: Engine) -> None:
    """A foreign key on the task table would cause multixacts and cascading locks."""
    keys = engine.rows(
        """select conrelid::regclass::text, confrelid::regclass::text from pg_constraint
        where contype = 'f' and connamespace = 'rolecall'::regnamespace"""
    )

    assert sorted(keys) == [
        ("rolecall.api_keys", "rolecall.people"),
        ("rolecall.known_browsers", "rolecall.people"),
        ("rolecall.sessions", "rolecall.people"),
    ]


def test_id_columns_are_bigint(engine: Engine) -> None:
    narrow = engine.rows(
        """select attrelid::regclass::text, attname from pg_attribute
        join pg_class on pg_class.oid = attrelid
        where relnamespace = 'rolecall'::regnamespace and relkind in ('r', 'p') and attnum > 0
            and (attname = 'id' or attname ~ '_id$') and atttypid <> 'bigint'::regtype and attname not in ('line_id')
            and attrelid <> 'rolecall.lines'::regclass"""
    )

    assert narrow == []


def test_every_timestamp_has_a_time_zone(engine: Engine) -> None:
    assert (
        engine.rows(
            """select table_name, column_name from information_schema.columns
        where table_schema = 'rolecall' and data_type = 'timestamp without time zone'"""
        )
        == []
    )


def test_every_function_except_inlined_ones_sets_its_search_path(engine: Engine) -> None:
    loose = engine.rows(
        """select proname from pg_proc
        where pronamespace = 'rolecall'::regnamespace and not coalesce(proconfig::text, '') like '%%search_path=%%'"""
    )

    assert sorted(name for (name,) in loose) == [
        "clock",
        "collects_events",
        "dedupe_scope",
        "due_at",
        "edge_problem",
        "expiry_of",
        "full_dedupe_key",
        "has_expired",
        "is_active",
        "is_sound",
        "kind_of",
        "line_floor",
        "lines_of_claim",
        "normalize_message",
        "pattern_of_key",
        "process_tasks",
        "require_durability",
        "require_own_worker",
        "shown_state",
        "status_of",
        "task_problem",
        "tasks_of_chain",
    ]


def test_columns_that_heartbeats_update_are_not_indexed(engine: Engine) -> None:
    """A renewal must update no index."""
    indexed = engine.rows(
        """select attname from pg_index join pg_attribute on attrelid = indrelid and attnum = any(indkey)
        where indrelid = 'rolecall.tasks'::regclass and attname in ('lease_until', 'started_at', 'info', 'deadline_at')"""
    )

    assert indexed == []
