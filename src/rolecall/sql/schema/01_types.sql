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

-- What a child's failure does to its parent and its siblings.
create type rolecall.child_rule as enum ('fail_parent', 'ignore', 'cancel_siblings');

-- What the failure of a task does to one that needs it.
create type rolecall.need_rule as enum ('fail', 'ignore');

-- Who claims, and how: a worker, for its roles (none: all) and handlers, into free slots or ahead; run = how
-- many tasks of one place of a key it may hold, to run them one after another.
create type rolecall.claim_terms as (
    worker_id bigint,
    roles text[],
    handlers text[],
    ahead boolean,
    run int
);

-- A claimed task, as its worker needs it. `key_slot` is negative for a task that follows another one in that
-- slot, and null without a key. `expires_seconds` is the time left to start the task, null if it does not
-- expire.
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
    expires_seconds float8
);

-- Where a new task belongs, when it is not the first of a chain without parent; and what it inherits.
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
    on_failure rolecall.child_rule
);

-- A task that has just ended and that others may wait for.
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

-- How many tasks of a key may run at once, and which of its slots are free.
create type rolecall.key_room as (
    key text,
    capacity int,
    free smallint[]
);

-- Which tasks are looked for; null does not filter.
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
    finished_to timestamptz
);

-- What a caller may do; each includes those before it.
create type rolecall.scope as enum ('own', 'read', 'operate', 'admin');
