-- A stored, editable rule that enqueues again and again.
create table rolecall.schedules (
    id bigint generated always as identity primary key,
    name text collate "C" not null unique,
    role text collate "C" not null,
    handler text collate "C" not null,
    payload jsonb not null default '{}',
    priority smallint not null default 0,
    key text collate "C",
    every interval not null,
    enabled boolean not null default true,
    next_run_at timestamptz not null,
    last_run_at timestamptz,
    last_task_id bigint,
    last_task_count int,
    last_error text,
    created_at timestamptz not null,
    constraint name_is_short check (length(name) between 1 and 100),
    constraint every_is_between_a_second_and_ten_years check (every between '1 s' and '10 years'),
    constraint payload_is_an_object check (jsonb_typeof(payload) = 'object'),
    constraint priority_is_between_minus_100_and_100 check (priority between -100 and 100)
);
create index schedules_due on rolecall.schedules (next_run_at) where enabled;
