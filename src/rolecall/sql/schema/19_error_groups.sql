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
