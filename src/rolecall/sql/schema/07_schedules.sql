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
