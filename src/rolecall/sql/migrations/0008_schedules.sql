-- breaking: yes
-- Schedules by cron expression, with policies for missed slots and overlapping runs, jitter, and a history of their runs.

-- What takes or returns something else than before; all functions are applied anew after this.
drop function if exists rolecall.run_schedule(rolecall.schedules, text);

alter table rolecall.schedules
    alter column every drop not null,
    add column cron text,
    add column zone text not null default 'UTC',
    add column misfire text not null default 'one',
    add column overlap text not null default 'queue',
    add column jitter interval not null default '0 s',
    add column immutable boolean not null default false,
    add column revision int not null default 1,
    add column declared jsonb,
    add column edited_at timestamptz,
    add constraint either_an_interval_or_a_cron_expression check (num_nonnulls(every, cron) = 1),
    add constraint misfire_is_a_policy check (misfire in ('skip', 'one', 'all')),
    add constraint overlap_is_a_policy check (overlap in ('skip', 'queue', 'cancel')),
    add constraint jitter_is_at_most_a_day check (jitter between '0 s' and '24 hours');

-- What became of a schedule's slots, and of the runs that people asked for (which have none).
create table rolecall.schedule_runs (
    id bigint generated always as identity primary key,
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
