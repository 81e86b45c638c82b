-- breaking: yes
-- Generated from the files of schema by `./dev schema`.

-- Enumerations and composite types of the tables and functions.
create schema if not exists rolecall;

create type rolecall.task_state as enum (
    'blocked', 'pending', 'running', 'waiting', 'completed', 'failed', 'cancelled'
);

-- A watermark: where a session's last claim stopped in a line, and when it must look below that position
-- again.
create type rolecall.floor as (
    scheduled_for timestamptz,
    id bigint,
    look_below_at timestamptz
);

-- The effect of a child's failure on its parent and siblings.
create type rolecall.child_rule as enum ('fail_parent', 'ignore', 'cancel_siblings');

-- The effect of a task's failure on a task that needs it.
create type rolecall.need_rule as enum ('fail', 'ignore');

-- A claimant: a worker with its roles (empty: all) and handlers, whether it claims ahead of free slots, run =
-- how many tasks of one key's permit it may hold as a sequence, and its free slots (null: not limited).
create type rolecall.claim_terms as (
    worker_id bigint,
    roles text[],
    handlers text[],
    ahead boolean,
    run int,
    free_slots int
);

-- A claimed task. key_slot is the task's permit: null without a key, negative if the task follows others
-- under that permit. expires_seconds is the time within which the task must start, null if it does not
-- expire. fire_time is the time that the task's schedule planned, null if no schedule created it.
create type rolecall.claimed_task as (
    id bigint,
    fence int,
    attempt int,
    max_attempts int,
    role text,
    handler text,
    priority int,
    payload jsonb,
    key text,
    chain_id bigint,
    chain_index int,
    scheduled_for timestamptz,
    created_at timestamptz,
    lease_seconds float8,
    timeout_seconds float8,
    step int,
    parent_id bigint,
    last_error text,
    key_slot int,
    expires_seconds float8,
    fire_time timestamptz
);

-- The position of a new task that is not the first of a chain without a parent, and the values that it
-- inherits; or the fire time of a schedule's task.
create type rolecall.place as (
    chain_id bigint,
    chain_index int,
    origin_id bigint,
    parent_id bigint,
    parent_fence int,
    depth int,
    priority int,
    scheduled_for timestamptz,
    needed boolean,
    on_failure rolecall.child_rule,
    fire_time timestamptz
);

-- A task that has just finished and that others may wait for.
create type rolecall.ending as (
    id bigint,
    state rolecall.task_state,
    chain_id bigint,
    parent_id bigint,
    depth int,
    on_failure rolecall.child_rule,
    needed boolean,
    continued boolean,
    open_children int
);

-- The capacity of a key and its free permits. has_more: other claimants can get further permits.
create type rolecall.key_room as (
    key text,
    capacity int,
    free smallint[],
    has_more boolean
);

-- A filter for tasks; null matches any value.
create type rolecall.task_filter as (
    ids bigint[],
    state text,
    role text,
    handler text,
    key text,
    worker_id bigint,
    chain_id bigint,
    parent_id bigint,
    roots boolean,
    text text,
    created_from timestamptz,
    created_to timestamptz,
    finished_from timestamptz,
    finished_to timestamptz,
    error_group bigint,
    error text,
    payload jsonb,
    action text
);

-- The rights of a caller; each scope includes those before it.
create type rolecall.scope as enum ('own', 'read', 'operate', 'admin');

-- Roles: queues that workers serve. Their settings are the defaults of their tasks.
create table rolecall.roles (
    name text collate "C" primary key,
    description text not null default '',
    lease interval not null default '60 s',
    timeout interval not null default '1 h',
    max_attempts int default 5,
    retry jsonb not null
        default '{"kind": "exponential", "first": 10, "factor": 2, "cap": 300, "jitter": 0.1}',
    max_payload_bytes int not null default 1048576,
    keep_completed interval not null default '14 days',
    keep_failed interval not null default '14 days',
    paused_at timestamptz,
    one_root boolean not null default false,
    paused_until timestamptz,
    paused_by text,
    idempotent boolean not null default false,
    strict_keys boolean not null default false,
    withdrawn text,
    constraint name_is_a_word check (name ~ '^[A-Za-z][A-Za-z0-9_.-]{0,62}$'),
    constraint lease_is_between_a_tenth_of_a_second_and_a_day check (lease between '100 ms' and '1 day'),
    constraint timeout_is_positive check (timeout > '0 s'),
    constraint max_attempts_is_positive_or_null_for_unlimited check (max_attempts > 0),
    constraint retry_is_a_policy check (retry ->> 'kind' in ('none', 'linear', 'exponential')),
    constraint max_payload_bytes_is_between_1_kb_and_64_mb check (
        max_payload_bytes between 1024 and 67108864
    ),
    constraint only_a_paused_role_has_pause_details check (
        paused_at is not null or num_nonnulls(paused_until, paused_by) = 0
    ),
    constraint a_pause_ends_after_it_began check (paused_until > paused_at)
);

-- Handlers: the code that runs tasks. Settings that are null come from the role.
create table rolecall.handlers (
    name text collate "C" primary key,
    role text collate "C" not null,
    description text not null default '',
    signature jsonb,
    lease interval,
    timeout interval,
    max_attempts int,
    retry jsonb,
    procedure text,
    before_procedure text,
    after_procedure text,
    key text,
    dedupe_key text,
    expires interval,
    result_schema jsonb,
    strict_keys boolean,
    hiding jsonb not null default '[]',
    withdrawn text,
    constraint name_is_a_word check (name ~ '^[A-Za-z][A-Za-z0-9_.-]{0,62}$'),
    constraint lease_is_between_a_tenth_of_a_second_and_a_day check (lease between '100 ms' and '1 day'),
    constraint timeout_is_positive check (timeout > '0 s'),
    constraint max_attempts_is_positive_or_zero_for_unlimited check (max_attempts >= 0),
    constraint retry_is_a_policy check (retry ->> 'kind' in ('none', 'linear', 'exponential')),
    constraint expires_is_positive check (expires > '0 s')
);
create index handlers_with_defaults on rolecall.handlers (name)
    where key is not null or dedupe_key is not null or expires is not null;

-- Lines: the tasks of one role, handler and priority, ordered by scheduled_for and id. Lines are never
-- deleted, and two equal ones may exist, because enqueuing a line's first task must not wait for another
-- transaction that does the same. Tasks that may only be claimed into a free slot, and tasks that are
-- incompatible with some signature digests, have separate lines, so that claims that cannot take them skip
-- them at no cost.
create table rolecall.lines (
    id int generated always as identity primary key,
    role text collate "C" not null,
    handler text collate "C" not null,
    priority smallint not null,
    never_ahead boolean not null default false,
    misfit_for text[] not null default '{}',
    constraint priority_is_between_minus_100_and_100 check (priority between -100 and 100)
);
create index lines_by_name on rolecall.lines (role, handler, priority);
-- For claims of a few handlers of all roles.
create index lines_by_handler on rolecall.lines (handler);

-- Keys: the lock of each key, and its own capacity if there is one, as an app declared it and as an
-- operator set it (0 pauses the key). The tasks that hold permits of the key are those with a key_slot.
create table rolecall.keys (
    key text collate "C" primary key,
    capacity smallint,
    declared smallint,
    constraint capacities_are_valid check (declared > 0 and capacity >= 0)
);
create index keys_with_a_capacity on rolecall.keys (key) where declared is not null or capacity is not null;

-- The capacities of all keys with a prefix.
create table rolecall.key_patterns (
    prefix text collate "C" primary key,
    declared smallint,
    capacity smallint,
    constraint capacities_are_positive check (least(declared, capacity) > 0),
    constraint has_a_capacity check (num_nonnulls(declared, capacity) > 0)
);

-- The progress of unpark: one row, which the running call locks until its commit, so that only one runs at
-- a time. `place` is the last key that was examined, `next_at` is when to continue.
create table rolecall.unpark_pass (
    only_row boolean primary key default true,
    place text collate "C" not null default '',
    next_at timestamptz not null default '-infinity',
    constraint has_only_one_row check (only_row)
);
insert into rolecall.unpark_pass default values;

-- Open tasks: blocked, pending, running or waiting. Finished tasks move to finished_tasks.
create table rolecall.tasks (
    id bigint generated by default as identity (maxvalue 9007199254740991) primary key,
    chain_id bigint not null,
    created_at timestamptz not null,
    scheduled_for timestamptz not null,
    claimed_at timestamptz,
    started_at timestamptz,
    lease_until timestamptz,
    deadline_at timestamptz,
    cancel_requested_at timestamptz,
    worker_id bigint,
    line_id int not null,
    chain_index int not null default 0,
    fence int not null default 0,
    attempt int not null default 0,
    max_attempts int,
    refunds smallint not null default 0,
    key_slot smallint,
    state rolecall.task_state not null default 'pending',
    parked boolean not null default false,
    key text collate "C",
    dedupe_key text collate "C",
    payload jsonb not null,
    retry jsonb,
    info jsonb,
    error text,
    origin_id bigint,
    parent_id bigint,
    parent_fence int,
    depth smallint,
    on_failure rolecall.child_rule,
    gathers boolean,
    serial boolean,
    open_children int,
    children_info jsonb,
    open_needs int,
    needed boolean,
    dedupe_pending boolean,
    timeout interval,
    result jsonb,
    step_number int,
    trace_context text,
    expires_at timestamptz,
    fire_time timestamptz
) with (
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 0,
    -- Leaves room next to each task for the row version that its claim writes.
    fillfactor = 45
);

-- Checks that a task's columns are consistent. A single function checks all rules, because each statement
-- that stores or changes tasks parses the table's check constraints again, and fifteen of them took longer
-- than the rest of a small statement. It is called for every row, so it sets no search path, and refers
-- only to objects of Postgres itself.
-- raises: 23514, with the rule as its constraint
create function rolecall.is_sound(p_task rolecall.tasks)
returns boolean
language plpgsql
immutable
as $$
declare
    v_broken text := case
        when p_task.state not in ('blocked', 'pending', 'running', 'waiting')
            then 'only_open_states'
        when num_nonnulls(p_task.worker_id, p_task.claimed_at, p_task.lease_until, p_task.deadline_at)
            <> case when p_task.state = 'running' then 4 else 0 end
            then 'running_iff_owned_leased_and_bounded'
        when p_task.started_at is not null and p_task.state not in ('running', 'waiting')
            then 'only_running_or_waiting_tasks_have_started'
        when p_task.cancel_requested_at is not null and p_task.state <> 'running'
            then 'only_running_tasks_await_their_cancellation'
        when p_task.state = 'running' and least(p_task.attempt, p_task.fence) < 1
            then 'a_claim_counts_an_attempt'
        when p_task.attempt < 0 or p_task.attempt > p_task.max_attempts
            then 'attempts_stay_within_max_attempts'
        when p_task.parked and (p_task.state <> 'pending' or p_task.key is null)
            then 'only_pending_keyed_tasks_are_parked'
        when jsonb_typeof(p_task.payload) <> 'object'
            then 'payload_is_an_object'
        when case
            when p_task.key is null then p_task.key_slot is not null
            when p_task.state in ('running', 'waiting') then p_task.key_slot is null
            when p_task.state = 'pending' and p_task.step_number is not null then false
            else p_task.key_slot is not null
        end
            then 'holds_a_slot_iff_keyed_and_active_but_may_keep_it_between_steps'
        when (p_task.open_needs is not null) <> (p_task.state = 'blocked')
            then 'blocked_iff_it_needs_something'
        when p_task.open_needs < 1
            then 'open_needs_are_counted_from_one'
        when p_task.state = 'waiting' and p_task.open_children is null
            then 'waiting_only_for_children'
        when p_task.open_children < 1
            then 'open_children_are_counted_from_one'
        when num_nonnulls(p_task.parent_id, p_task.parent_fence, p_task.depth) not in (0, 3)
            then 'a_child_knows_which_claim_spawned_it'
        when p_task.timeout <= '0 s'
            then 'timeout_is_positive'
    end;
begin
    if v_broken is not null then
        raise exception using
            errcode = 'check_violation', schema = 'rolecall', table = 'tasks', constraint = v_broken,
            message = format('new row for relation "tasks" violates check constraint "%s"', v_broken),
            detail = format('It is task %s.', p_task.id);
    end if;
    return true;
end
$$;

alter table rolecall.tasks add constraint is_sound check (rolecall.is_sound(tasks));

-- For claims: only claimable tasks, in claim order.
create index tasks_in_line on rolecall.tasks (line_id, scheduled_for, id)
    where state = 'pending' and not parked;
-- For renewals, rescue and deregistration.
create index tasks_running on rolecall.tasks (worker_id) where state = 'running';
-- At most `capacity` active tasks per key: each holds another permit. A negative number marks a task that
-- was claimed to follow others of its worker under that permit.
create unique index places_of_keys
on rolecall.tasks (key, key_slot, (case when key_slot < 0 then id end)) nulls not distinct
where key_slot is not null;
-- Tasks that wait for a key, parked or not.
create index tasks_wanting_key on rolecall.tasks (key, line_id, scheduled_for, id)
    where state = 'pending' and key is not null;
-- One open task per dedupe key; among tasks with the scope `pending`, one that has never been claimed, so
-- that a retry of an older task does not conflict with its newer duplicate. One index for both, because an
-- insert can name only one index for conflicts.
create unique index one_task_per_dedupe_key on rolecall.tasks (dedupe_key, coalesce(dedupe_pending, false))
where dedupe_key is not null and (dedupe_pending is not true or fence = 0);
create index tasks_beside_a_twin on rolecall.tasks (dedupe_key) where dedupe_pending;
create unique index one_open_continuation_per_chain on rolecall.tasks (chain_id) where chain_index > 0;
create index tasks_by_parent on rolecall.tasks (parent_id, id) where parent_id is not null;
-- For metrics of tasks with many attempts. Nearly all tasks have few and cost nothing here.
create index tasks_tried_often on rolecall.tasks (line_id) where attempt >= 5;
-- For lists of tasks that wait for others. Tasks that never do cost nothing here.
create index tasks_held_up on rolecall.tasks (id) where state in ('blocked', 'waiting');
-- For cancelling expired tasks. Tasks without an expiry cost nothing here.
create index tasks_expiring on rolecall.tasks (expires_at)
    where expires_at is not null and state in ('blocked', 'pending');

-- Finished tasks, in one partition per day, which retention drops. The default partition takes days without
-- a partition.
create table rolecall.finished_tasks (
    id bigint not null,
    chain_id bigint not null,
    created_at timestamptz not null,
    scheduled_for timestamptz not null,
    claimed_at timestamptz,
    started_at timestamptz,
    finished_at timestamptz not null,
    worker_id bigint,
    line_id int not null,
    chain_index int not null,
    fence int not null,
    attempt int not null,
    max_attempts int,
    state rolecall.task_state not null,
    key text collate "C",
    dedupe_key text collate "C",
    payload jsonb not null,
    retry jsonb,
    info jsonb,
    result jsonb,
    error text,
    origin_id bigint,
    parent_id bigint,
    parent_fence int,
    depth smallint,
    on_failure rolecall.child_rule,
    continued boolean,
    dedupe_pending boolean,
    timeout interval,
    trace_context text,
    expires_at timestamptz,
    fire_time timestamptz,
    error_group bigint,
    constraint only_terminal_states check (state in ('completed', 'failed', 'cancelled')),
    constraint failed_task_has_an_error check (state <> 'failed' or error is not null)
) partition by range (finished_at);
create table rolecall.finished_tasks_default partition of rolecall.finished_tasks default;
create index finished_tasks_by_id on rolecall.finished_tasks (id);
create index finished_tasks_by_parent on rolecall.finished_tasks (parent_id, parent_fence)
    where parent_id is not null;
create index finished_tasks_by_chain on rolecall.finished_tasks (chain_id, chain_index) where chain_index > 0;
create index finished_tasks_by_dedupe_key on rolecall.finished_tasks (dedupe_key, created_at)
    where dedupe_key is not null;
-- For recently finished tasks. Rows are stored in the order in which they finished, so a BRIN index is
-- sufficient, and costs a finish nothing.
create index finished_tasks_by_time on rolecall.finished_tasks using brin (finished_at)
    with (pages_per_range = 64, autosummarize = on);
create index finished_tasks_by_key on rolecall.finished_tasks (key, id) where key is not null;
-- Failed and cancelled tasks are searched for most and are few. Completed tasks, the common case, cost
-- nothing here.
create index finished_tasks_not_completed on rolecall.finished_tasks (state, id) where state <> 'completed';
-- For the failed tasks of an error group.
create index finished_tasks_by_error on rolecall.finished_tasks (error_group, id)
    where error_group is not null;

-- Transitions that the task rows do not contain: lost attempts, returns, snoozes, actions of operators. An
-- event that ends an attempt also contains when the attempt was claimed and started. An event with an actor
-- records who caused a change, and the bulk action that it was a part of.
create table rolecall.task_events (
    task_id bigint not null,
    at timestamptz not null,
    kind text not null,
    attempt int not null,
    worker_id bigint,
    detail text,
    claimed_at timestamptz,
    started_at timestamptz,
    actor text,
    bulk_action_id bigint
) partition by range (at);
create table rolecall.task_events_default partition of rolecall.task_events default;
create index task_events_by_task on rolecall.task_events (task_id);
create index task_events_by_time on rolecall.task_events using brin (at)
    with (pages_per_range = 64, autosummarize = on);

-- The number of finished tasks of each line, state and day that finished before `counted_until`: the sum of
-- its rows. Deleting finished tasks adds a negative row, so that no transaction waits for another; the next
-- roll-up merges the rows.
create table rolecall.finished_counts (
    day date not null,
    line_id int not null,
    state rolecall.task_state not null,
    number bigint not null
);
create index finished_counts_by_day on rolecall.finished_counts (day);
-- These tables have no primary key. Where they are published, all their columns identify a row (decision
-- 0017).
alter table rolecall.finished_tasks replica identity full;
alter table rolecall.finished_tasks_default replica identity full;
alter table rolecall.task_events replica identity full;
alter table rolecall.task_events_default replica identity full;
alter table rolecall.finished_counts replica identity full;
-- The time up to which finished tasks are in finished_counts: all that finished before it, and none that
-- finished later. Transactions that delete finished tasks hold a shared lock on its row until they commit;
-- the roll-up that advances it holds an exclusive one.
create table rolecall.counted_until (
    only_row boolean primary key default true,
    moment timestamptz not null,
    constraint has_only_one_row check (only_row)
);
insert into rolecall.counted_until (moment) values ('-infinity');

-- The trigger needs a function to exist; `functions/` replaces this one with its real body.
create function rolecall.uncount_finished() returns trigger language plpgsql as 'begin return null; end';
create trigger subtract_deleted_tasks
after delete on rolecall.finished_tasks
referencing old table as gone
for each statement execute function rolecall.uncount_finished();

-- The worker registry: one row per worker process, with an id that is never reused. Each heartbeat reports
-- cpu and memory (fractions of what the worker may use), how far its clock is ahead (seconds), why it takes
-- no new tasks for now, and the command that it has received. intakes are the signature digests that its
-- handlers accept. For proofs of death: the pid, the space in which it is valid (one boot of a machine, one
-- pid namespace), the start of the process, the suffix of its sessions' application_name, and since when no
-- such session has been seen. `login` registered the worker, and no other login may report for it.
-- A dead worker has ended without deregistering, and another process has removed it.
create table rolecall.workers (
    id bigint generated always as identity (maxvalue 9007199254740991) primary key,
    name text not null,
    roles text[] not null,
    handlers text[] not null,
    slots int not null,
    held int not null default 0,
    started_at timestamptz not null,
    heartbeat_at timestamptz not null,
    stopped_at timestamptz,
    is_dead boolean not null default false,
    host text,
    pid int,
    version text,
    pod text,
    node text,
    cpu float8,
    memory float8,
    memory_bytes bigint,
    clock_ahead float8,
    backing_off text,
    command text,
    commanded_at timestamptz,
    following text,
    intakes text[] not null default '{}',
    pid_space text,
    pid_started bigint,
    sessions text,
    unseen_since timestamptz,
    login text not null default session_user,
    app text,
    release text,
    constraint slots_are_positive check (slots > 0),
    constraint command_is_known check (command in ('drain', 'decommission')),
    constraint a_command_has_a_time check ((command is null) = (commanded_at is null))
) with (fillfactor = 50);

-- Workers that wait for tasks, by the roles that they claim from ('' for all). An enqueue notifies some of
-- them. A mark expires unless the worker renews it. An enqueue looks among the newest marks, regardless of
-- older ones that an old snapshot retains.
create table rolecall.idle_marks (
    role text collate "C" not null,
    worker_id bigint not null,
    handlers text[] not null,
    until timestamptz not null
);
create index idle_marks_by_role on rolecall.idle_marks (role, until);
create index idle_marks_by_worker on rolecall.idle_marks (worker_id, until);
alter table rolecall.idle_marks replica identity full;

-- The server that was seen last, since when, and how often its clock was set while it ran. After a restart, a
-- failover or a step of the clock, nothing is rescued for one lease.
create table rolecall.server_epoch (
    only_row boolean primary key default true,
    postmaster_started_at timestamptz not null,
    seen_at timestamptz not null,
    clock_steps int not null default 0,
    constraint has_only_one_row check (only_row)
);

-- Schedules: stored, editable rules that enqueue tasks repeatedly, by an interval or a cron expression.
create table rolecall.schedules (
    id bigint generated always as identity (maxvalue 9007199254740991) primary key,
    name text collate "C" not null unique,
    role text collate "C" not null,
    handler text collate "C" not null,
    payload jsonb not null default '{}',
    priority smallint not null default 0,
    key text collate "C",
    every interval,
    enabled boolean not null default true,
    next_run_at timestamptz not null,
    last_run_at timestamptz,
    last_task_id bigint,
    last_task_count int,
    last_error text,
    created_at timestamptz not null,
    cron text,
    zone text not null default 'UTC',
    misfire text not null default 'one',
    overlap text not null default 'queue',
    jitter interval not null default '0 s',
    immutable boolean not null default false,
    revision int not null default 1,
    declared jsonb,
    edited_at timestamptz,
    withdrawn text,
    constraint name_is_short check (length(name) between 1 and 100),
    constraint every_is_between_a_second_and_ten_years check (every between '1 s' and '10 years'),
    constraint payload_is_an_object check (jsonb_typeof(payload) = 'object'),
    constraint priority_is_between_minus_100_and_100 check (priority between -100 and 100),
    constraint either_an_interval_or_a_cron_expression check (num_nonnulls(every, cron) = 1),
    constraint misfire_is_a_policy check (misfire in ('skip', 'one', 'all')),
    constraint overlap_is_a_policy check (overlap in ('skip', 'queue', 'cancel')),
    constraint jitter_is_at_most_a_day check (jitter between '0 s' and '24 hours')
);
create index schedules_due on rolecall.schedules (next_run_at) where enabled;

-- The results of a schedule's fire times, and of manual runs, which have no fire time.
create table rolecall.schedule_runs (
    id bigint generated always as identity (maxvalue 9007199254740991) primary key,
    schedule_id bigint not null,
    slot timestamptz,
    at timestamptz not null,
    outcome text not null,
    missed bigint not null,
    task_id bigint,
    generated int not null default 0,
    error text,
    constraint outcome_is_known check (outcome in ('enqueued', 'stood', 'skipped', 'missed', 'refused')),
    constraint only_a_refused_run_has_an_error check ((outcome = 'refused') = (error is not null))
);
create index schedule_runs_by_schedule on rolecall.schedule_runs (schedule_id, id);
create index schedule_runs_by_task on rolecall.schedule_runs (task_id) where outcome = 'enqueued';

-- The needs of tasks: other tasks, or whole chains, by the id of their first task. The rows are kept, so
-- that the task can read the results in the order in which it declared its needs.
create table rolecall.needs (
    task_id bigint not null,
    position int not null,
    name text,
    needed_id bigint not null,
    whole_chain boolean not null,
    on_failure rolecall.need_rule not null,
    outcome rolecall.task_state,
    constraint one_need_per_position primary key (task_id, position),
    constraint names_of_needs_are_distinct unique (task_id, name)
);
create index needs_by_needed on rolecall.needs (needed_id);

-- Completion tokens, each of which can finish its task from outside. Only their digests are stored.
create table rolecall.task_tokens (
    digest bytea primary key,
    task_id bigint not null,
    created_at timestamptz not null,
    expires_at timestamptz not null
);
create index task_tokens_by_task on rolecall.task_tokens (task_id);

-- The audit log: one row per change that was requested through the service layer. Append-only.
create table rolecall.audit_log (
    id bigint generated always as identity (maxvalue 9007199254740991) primary key,
    at timestamptz not null,
    actor text not null,
    via text not null,
    origin text,
    action text collate "C" not null,
    detail jsonb not null,
    outcome jsonb,
    constraint via_is_a_shell check (via in ('cli', 'api', 'dashboard', 'system')),
    constraint detail_is_an_object check (jsonb_typeof(detail) = 'object')
);
create index audit_log_by_time on rolecall.audit_log (at);

-- The triggers need a function to exist; `functions/` replaces this one with its real body.
create function rolecall.protect_audit_log() returns trigger language plpgsql as 'begin return null; end';
create trigger forbid_changes
before update or truncate on rolecall.audit_log
for each statement execute function rolecall.protect_audit_log();
create trigger forbid_early_deletion
after delete on rolecall.audit_log
referencing old table as gone
for each statement execute function rolecall.protect_audit_log();

-- Responses to requests, kept for a day, so that a request that is repeated with the same key gets the
-- stored response and is not executed again.
create table rolecall.requests (
    caller text collate "C" not null,
    key text collate "C" not null,
    digest bytea not null,
    answered_at timestamptz not null,
    status int not null,
    location text,
    body text not null,
    constraint one_answer_per_caller_and_key primary key (caller, key)
);
create index requests_by_time on rolecall.requests (answered_at);

-- Access over HTTP: programs use an API key, people log in by name. Only digests of secrets are stored.
create table rolecall.api_keys (
    id bigint generated always as identity (maxvalue 9007199254740991) primary key,
    name text not null,
    scope rolecall.scope not null,
    prefix text collate "C" not null unique,
    digest bytea not null,
    created_at timestamptz not null,
    expires_at timestamptz,
    last_used_at timestamptz,
    revoked_at timestamptz,
    constraint name_is_short check (length(name) between 1 and 100),
    constraint digest_is_sha256 check (length(digest) = 32)
);
create table rolecall.people (
    id bigint generated always as identity (maxvalue 9007199254740991) primary key,
    name text collate "C" not null unique,
    scope rolecall.scope not null,
    password_hash text not null,
    created_at timestamptz not null,
    last_login_at timestamptz,
    constraint name_is_short check (length(name) between 1 and 100)
);
-- A person's own key is deleted together with the person.
alter table rolecall.api_keys add column person_id bigint references rolecall.people on delete cascade;
create index api_keys_by_person on rolecall.api_keys (person_id) where person_id is not null;
-- A session without a person was opened with the local token.
create table rolecall.sessions (
    digest bytea primary key,
    person_id bigint references rolecall.people on delete cascade,
    origin text,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    last_used_at timestamptz,
    constraint digest_is_sha256 check (length(digest) = 32)
);
create index sessions_by_person on rolecall.sessions (person_id);
create index sessions_by_expiry on rolecall.sessions (expires_at);
-- Browsers in which a person has logged in: failed attempts of others do not lock out the person there.
create table rolecall.known_browsers (
    digest bytea not null,
    person_id bigint not null references rolecall.people on delete cascade,
    last_seen_at timestamptz not null,
    primary key (digest, person_id),
    constraint digest_is_sha256 check (length(digest) = 32)
);
create index known_browsers_by_person on rolecall.known_browsers (person_id);
-- Login attempts since the last success, whether a person of that name exists or not: by the digest of the
-- name, of the name with the network, or of a known browser's secret. Each row also has the digest of the
-- name.
create table rolecall.login_attempts (
    digest bytea primary key,
    attempts int not null,
    last_at timestamptz not null,
    locked_until timestamptz,
    name_digest bytea
);

-- Statistics of finished tasks, in bins: bins of 10 s are made from finished tasks, and wider bins are
-- merged from narrower ones once they are over. A role has a row for each handler; role '' with handler ''
-- is the sum of all roles. Durations are histograms: the number in each bucket of history_bounds().
-- `samples` is how often open tasks were counted; `ready` and `running` are the sums of these counts.
create table rolecall.history (
    role text collate "C" not null,
    handler text collate "C" not null,
    width int not null,
    at timestamptz not null,
    completed int not null default 0,
    failed int not null default 0,
    cancelled int not null default 0,
    retried int not null default 0,
    samples int not null default 0,
    ready bigint not null default 0,
    running bigint not null default 0,
    longest_wait float8,
    longest_run float8,
    wait_buckets smallint[] not null default '{}',
    wait_counts int[] not null default '{}',
    run_buckets smallint[] not null default '{}',
    run_counts int[] not null default '{}',
    primary key (role, width, at, handler)
);
-- For finding what fails now. Bins without failures cost nothing here.
create index history_with_failures on rolecall.history (at) where width = 10 and failed > 0;
-- The start of the history, and the time up to which it is complete: it contains all tasks that finished
-- before that time, and none that finished later.
create table rolecall.history_until (
    only_row boolean primary key default true,
    began timestamptz not null,
    moment timestamptz not null,
    constraint has_only_one_row check (only_row)
);
insert into rolecall.history_until (began, moment) values ('-infinity', '-infinity');

-- The state of pruning: one row per kind. The session that prunes a kind holds its row until the commit, so
-- that only one does. `keep` is the retention, if it is neither fixed nor set per role; `next_at` is when
-- to look again, `place` how far the current pass has come, and `in_use_since` since when something that is
-- due could not be pruned because it is in use.
create table rolecall.retention (
    kind text collate "C" primary key,
    keep interval,
    next_at timestamptz not null default '-infinity',
    place text collate "C",
    in_use_since timestamptz,
    constraint keep_is_at_least_a_day check (keep >= '1 day')
);
insert into rolecall.retention (kind, keep) values
    ('finished_tasks', null),
    ('task_partitions', null),
    ('event_partitions', null),
    ('task_events', null),
    ('keys', null),
    ('task_tokens', null),
    ('task_owners', null),
    ('requests', null),
    ('error_groups', null),
    ('error_hours', null),
    ('workers', null),
    ('idle_marks', null),
    ('schedule_runs', null),
    ('history', null),
    ('audit_log', '400 days'),
    ('task_logs', '7 days'),
    ('api_keys', null),
    ('sessions', null),
    ('login_attempts', null),
    ('known_browsers', null);

-- The owners and titles of tasks that were enqueued with one; a separate table, so that the task rows stay
-- narrow. A row is pruned after its task.
create table rolecall.task_owners (
    task_id bigint primary key,
    owner text collate "C" not null,
    title text not null
);
create index task_owners_by_owner on rolecall.task_owners (owner, task_id);

-- The state of maintenance duties: when each is due next, and how its last runs went. The first run creates
-- the row. The process that runs a duty holds its row until the commit of the first batch, so that only one
-- begins; `done_by` names it. `succeeded_at` is the end of the last successful run, `unfinished_since` the
-- start of the first run after it, and `error` the error of the latest run. The times are the server's own,
-- even if a test changes the clock.
create table rolecall.duties (
    name text collate "C" primary key,
    every interval not null,
    next_at timestamptz not null,
    done_by text not null,
    succeeded_at timestamptz,
    unfinished_since timestamptz,
    error text,
    constraint only_an_unfinished_duty_has_an_error check (error is null or unfinished_since is not null)
) with (fillfactor = 50);

-- What each release of an app declares in its code, stored when its workers start. A release is the digest
-- of its declarations, so two deployments with the same declarations are one release. The digest of one
-- declaration is null if it has no settings.
create table rolecall.declarations (
    app text collate "C" not null,
    release text collate "C" not null,
    kind text collate "C" not null,
    name text collate "C" not null,
    digest text,
    primary key (app, release, kind, name),
    constraint kind_is_known check (kind in ('schedule', 'key', 'role', 'handler'))
);

-- Rows that functions lock to exclude each other when there is no other row to lock. Unlike advisory locks,
-- logins cannot lock these themselves. Nothing updates them. `keys` and `dedupe` have a row for each
-- remainder of a key's hash, `needs` has one row.
create table rolecall.latches (
    kind text collate "C" not null,
    number int not null,
    primary key (kind, number)
);
insert into rolecall.latches (kind, number)
select kind, number from unnest('{keys,dedupe}'::text[]) as kind, generate_series(0, 1023) as number
union all
select 'needs', 0;

-- Failures with the same cause, as one group per handler, type of error, normalized message and innermost
-- frame of the application (identify_error). `failed` counts tasks, `retried` failed attempts that were not
-- their task's last. `opened_at` is the first failure, or the first one after the group was resolved;
-- `sample_id` is a task with one of the latest failures. A release is that of the worker.
create table rolecall.error_groups (
    id bigint primary key,
    handler text collate "C" not null,
    type text,
    message text not null,
    frame text,
    state text not null default 'new',
    state_at timestamptz not null,
    opened_at timestamptz not null,
    first_at timestamptz not null,
    last_at timestamptz not null,
    failed bigint not null,
    retried bigint not null,
    sample_id bigint not null,
    first_release text,
    last_release text,
    constraint state_is_known check (state in ('new', 'muted', 'resolved'))
);
create index error_groups_by_time on rolecall.error_groups (last_at, id);

-- The failures of each group by hour.
create table rolecall.error_hours (
    group_id bigint not null,
    hour timestamptz not null,
    failed int not null,
    retried int not null,
    primary key (group_id, hour)
);

-- Failures that are not added to the groups yet: one row per group and call. Only maintenance updates the
-- groups, so that no call that reports a failure waits for another.
create table rolecall.new_failures (
    group_id bigint not null,
    handler text collate "C" not null,
    type text,
    message text not null,
    frame text,
    at timestamptz not null,
    failed int not null,
    retried int not null,
    sample_id bigint not null,
    worker_id bigint
);
alter table rolecall.new_failures replica identity full;

-- The roles, handlers and workers with a problem, for those who are notified of it. `announced_at` is null
-- until the problem has lasted for a while.
create table rolecall.announced_problems (
    kind text not null,
    subject text collate "C" not null,
    first_seen_at timestamptz not null,
    last_seen_at timestamptz not null,
    announced_at timestamptz,
    primary key (kind, subject)
);

-- The log lines of attempts, in parts: one row per write of a worker. A line is a JSON array: its number in
-- its attempt, its time in seconds since 1970, its level, its logger and its message. A gap in the numbers
-- stands for lines that were not stored. `at` is the time of the last write. Part 0 is no log line: it is the
-- latest request for the stack of the handler, and its answer.
create table rolecall.task_logs (
    task_id bigint not null,
    fence int not null,
    part int not null,
    attempt int not null,
    at timestamptz not null,
    lines jsonb not null,
    primary key (task_id, fence, part)
);
create index task_logs_by_time on rolecall.task_logs (at);

-- Actions on all tasks that match a filter, worked off in batches by a maintenance duty, newest tasks first.
-- A filter has the fields of rolecall.task_filter. Tasks from `below` on are done, or newer than the action.
-- `next_at` is the time of the next batch. `total` is the number of tasks that matched when the action was
-- stored, null if counting took too long. `done` counts the tasks that it acted on, `outcomes` the outcomes.
create table rolecall.bulk_actions (
    id bigint generated always as identity (maxvalue 9007199254740991) primary key,
    action text not null,
    filter jsonb not null,
    rate float8,
    actor text not null,
    created_at timestamptz not null,
    starts_at timestamptz not null,
    next_at timestamptz,
    finished_at timestamptz,
    state text not null default 'waiting',
    below bigint not null,
    total bigint,
    done bigint not null default 0,
    outcomes jsonb not null default '{}',
    stopped_by text,
    constraint action_is_a_verb check (action in ('retry', 'cancel', 'delete')),
    constraint filter_is_an_object check (jsonb_typeof(filter) = 'object' and filter <> '{}'),
    constraint only_retries_have_a_rate
    check (rate is null or action = 'retry' and rate between 0.01 and 10000),
    constraint state_is_one_of_a_bulk_action
    check (state in ('waiting', 'running', 'completed', 'stopped', 'withdrawn')),
    constraint due_iff_unfinished check ((next_at is null) = (finished_at is not null))
) with (fillfactor = 50);
create index bulk_actions_due on rolecall.bulk_actions (next_at) where next_at is not null;

-- Queries of tasks that operators have saved under a name, for everyone who can read tasks.
create table rolecall.saved_views (
    id bigint generated always as identity (maxvalue 9007199254740991) primary key,
    name text collate "C" not null unique,
    query text not null,
    saved_by text not null,
    saved_at timestamptz not null,
    constraint name_is_short check (length(name) between 1 and 60),
    constraint query_is_short check (length(query) between 1 and 1000)
);
