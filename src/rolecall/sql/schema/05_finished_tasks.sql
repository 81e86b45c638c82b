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
