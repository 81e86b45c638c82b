-- The closed sets of words that the tables speak in.
create schema if not exists rolecall;

create type rolecall.task_state as enum (
    'blocked', 'pending', 'running', 'waiting', 'completed', 'failed', 'cancelled'
);

-- Where the last claim of a session stopped in a line, and when it must look below that place again.
create type rolecall.floor as (
    scheduled_for timestamptz,
    id bigint,
    look_below_at timestamptz
);
