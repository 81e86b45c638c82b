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
