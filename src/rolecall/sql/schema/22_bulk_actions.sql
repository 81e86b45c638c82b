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
