-- Finished work, one partition a day, dropped by retention. The default partition is a net for days without a partition.
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
    constraint only_terminal_states_stand_here check (state in ('completed', 'failed', 'cancelled')),
    constraint a_failed_task_says_why check (state <> 'failed' or error is not null)
) partition by range (finished_at);
create table rolecall.finished_tasks_default partition of rolecall.finished_tasks default;
create index finished_tasks_by_id on rolecall.finished_tasks (id);

-- Transitions that the rows themselves do not tell: lost attempts, releases, snoozes, operators' acts.
create table rolecall.task_events (
    task_id bigint not null,
    at timestamptz not null,
    kind text not null,
    attempt int not null,
    worker_id bigint,
    detail text
) partition by range (at);
create table rolecall.task_events_default partition of rolecall.task_events default;
create index task_events_by_task on rolecall.task_events (task_id);
