-- breaking: yes
-- Edges between tasks: parent and children, needs, chains; what SQL handlers, dedupe modes and completion from outside store.

-- What takes or returns something else than before; all functions are applied anew after this.
drop function if exists rolecall.claim(bigint, text[], text[], int, int);
drop function if exists rolecall.complete_tasks(bigint, jsonb, timestamptz);
drop function if exists rolecall.drop_partitions(date);
drop function if exists rolecall.find_or_insert(jsonb, bigint, int);
drop function if exists rolecall.insert_tasks(jsonb, bigint[], int[]);
drop function if exists rolecall.let_go(jsonb);
drop function if exists rolecall.lose_tasks(bigint, jsonb);
drop function if exists rolecall.read_drafts(jsonb, timestamptz);
drop function if exists rolecall.store_tasks(jsonb, bigint[], int[]);

-- What a child's failure does to its parent and its siblings.
create type rolecall.child_rule as enum ('fail_parent', 'ignore', 'cancel_siblings');

-- What the failure of a task does to one that needs it.
create type rolecall.need_rule as enum ('fail', 'ignore');

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

alter table rolecall.roles add column one_root boolean not null default false;
alter table rolecall.handlers
    add column procedure text,
    add column before_procedure text,
    add column after_procedure text;

alter table rolecall.tasks
    add column origin_id bigint,
    add column parent_id bigint,
    add column parent_fence int,
    add column depth smallint,
    add column on_failure rolecall.child_rule,
    add column step smallint,
    add column gathers boolean,
    add column serial boolean,
    add column open_children int,
    add column children_info jsonb,
    add column open_needs int,
    add column needed boolean,
    add column dedupe_pending boolean,
    add column timeout interval,
    add column result jsonb,
    drop constraint holds_a_slot_iff_keyed_and_active,
    add constraint holds_a_slot_iff_keyed_and_active_but_may_keep_it_between_steps check (case
        when key is not null and state in ('running', 'waiting') then key_slot is not null
        when key is not null and state = 'pending' and step is not null then true
        else key_slot is null
    end),
    add constraint blocked_iff_it_needs_something check ((open_needs is not null) = (state = 'blocked')),
    add constraint open_needs_are_counted_from_one check (open_needs > 0),
    add constraint waiting_only_for_children check (state <> 'waiting' or open_children is not null),
    add constraint open_children_are_counted_from_one check (open_children > 0),
    add constraint a_child_knows_which_claim_spawned_it check (num_nonnulls(parent_id, parent_fence, depth) in (0, 3)),
    add constraint timeout_is_positive check (timeout > '0 s');

drop index rolecall.one_open_task_per_dedupe_key;
-- One open task a dedupe key; of those that only a task that nobody has claimed yet stands for, one unclaimed: what is retried
-- must not meet its newer twin here. One index for both, as an insert that meets a twin can name but one.
create unique index one_task_per_dedupe_key on rolecall.tasks (dedupe_key, coalesce(dedupe_pending, false))
where dedupe_key is not null and (dedupe_pending is not true or fence = 0);
create index tasks_beside_a_twin on rolecall.tasks (dedupe_key) where dedupe_pending;
create unique index one_open_continuation_per_chain on rolecall.tasks (chain_id) where chain_index > 0;
create index tasks_by_parent on rolecall.tasks (parent_id, id) where parent_id is not null;

alter table rolecall.finished_tasks
    add column origin_id bigint,
    add column parent_id bigint,
    add column parent_fence int,
    add column depth smallint,
    add column on_failure rolecall.child_rule,
    add column continued boolean,
    add column dedupe_pending boolean,
    add column timeout interval;
create index finished_tasks_by_parent on rolecall.finished_tasks (parent_id, parent_fence) where parent_id is not null;
create index finished_tasks_by_chain on rolecall.finished_tasks (chain_id, chain_index) where chain_index > 0;
create index finished_tasks_by_dedupe_key on rolecall.finished_tasks (dedupe_key, created_at) where dedupe_key is not null;

-- What a task needs before it may run: other tasks, or whole chains, by the id of their first task. The rows stay, so that the
-- task can read the results in the order in which it declared its needs.
create table rolecall.needs (
    task_id bigint not null,
    position smallint not null,
    name text,
    needed_id bigint not null,
    whole_chain boolean not null,
    on_failure rolecall.need_rule not null,
    outcome rolecall.task_state,
    constraint one_need_per_position primary key (task_id, position),
    constraint names_tell_needs_apart unique (task_id, name)
);
create index needs_by_needed on rolecall.needs (needed_id);

-- Who shows a token may end its task from outside; only the token's digest is stored.
create table rolecall.task_tokens (
    digest bytea primary key,
    task_id bigint not null,
    created_at timestamptz not null,
    expires_at timestamptz not null
);
create index task_tokens_by_task on rolecall.task_tokens (task_id);
