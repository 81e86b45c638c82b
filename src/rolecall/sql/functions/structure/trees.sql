-- Stores children of a task and adds them to its count. Serial ones each need the one before. In their line
-- they come before younger tasks of the parent's line and before its older children.
-- returns: their ids in input order; an existing task in place of one of them is not a child
-- raises: RC031, RC040 an invalid task; RC043 one that would wait for itself; RC044 the parent is gone or
-- has finished; RC045 the dedupe_key must be new; RC050 wrong isolation level, if a task with a key is
-- postponed
-- locks: the caller holds the parent; dedupe keys in their order; needed tasks, children before parents
-- notifies: rolecall_wake, if an idle worker waits for the role
create or replace function rolecall.add_children(
    p_parent_id bigint, p_fence int, p_drafts jsonb, p_serial boolean
)
returns bigint[]
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_parent record;
    v_drafts jsonb := p_drafts;
    v_last_id bigint;
    v_place rolecall.place;
    v_stored record;
    v_stood int;
begin
    if jsonb_typeof(p_drafts) <> 'array' then
        perform rolecall.refuse('RC040', 'children must be an array of tasks');
    elsif p_drafts = '[]' then
        return '{}';
    end if;
    select task.fence, coalesce(task.depth, 0) + 1 as depth, task.scheduled_for - interval '1 us' as turn,
        task.serial,
        line.priority
    into v_parent
    from rolecall.tasks as task
    join rolecall.lines as line on line.id = task.line_id
    where task.id = p_parent_id;
    if not found then
        perform rolecall.refuse('RC044', format('the parent task %s is not open', p_parent_id));
    end if;
    if coalesce(p_serial, v_parent.serial) then
        v_last_id := (
            select max(task.id)
            from rolecall.tasks as task
            where v_parent.serial and task.parent_id = p_parent_id
        );
        -- Each needs the one before, whatever its outcome, before its own needs.
        select jsonb_agg(case
            when n = 1 and v_last_id is null then draft
            else draft || jsonb_build_object('needs', jsonb_build_array(
                case
                    when n = 1 then jsonb_build_object('task', v_last_id)
                    else jsonb_build_object('item', n - 2)
                end
                    || '{"on_failure": "ignore"}'
            ) || coalesce(nullif(draft -> 'needs', 'null'), '[]'))
        end order by n)
        into v_drafts
        from jsonb_array_elements(p_drafts) with ordinality as item (draft, n);
    end if;
    -- Counted before they are stored: a child that fails immediately because of its needs is subtracted
    -- again.
    update rolecall.tasks as task
    set open_children = coalesce(task.open_children, 0) + jsonb_array_length(p_drafts),
        serial = coalesce(p_serial, task.serial, false)
    where task.id = p_parent_id;
    v_place := (
        null, null, null, p_parent_id, coalesce(p_fence, v_parent.fence), v_parent.depth, v_parent.priority,
        v_parent.turn, null, null, null
    );
    select *
    into v_stored
    from rolecall.store_tasks(v_drafts, array_fill(v_place, array[jsonb_array_length(v_drafts)]));
    if rolecall.any_keyed(v_stored.ids) then
        perform rolecall.refuse_circle(v_stored.ids, p_parent_id);
    end if;
    v_stood := cardinality(v_stored.deduplicated);
    if v_stood > 0 then
        perform rolecall.conclude(array_fill(
            (null, 'completed', null, p_parent_id, v_parent.depth, null, null, null, null)::rolecall.ending,
            array[v_stood]
        ), null);
    end if;
    return v_stored.ids;
end
$$;

-- Returns whether any of the given open tasks has a key.
create or replace function rolecall.any_keyed(p_ids bigint[])
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
begin
    return exists (select from rolecall.tasks as task where task.id = any(p_ids) and task.key is not null);
end
$$;

-- Finds the open tasks below the given tasks, recursively.
-- returns: the given ids and those found
create or replace function rolecall.with_open_descendants(p_ids bigint[])
returns bigint[]
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    with recursive tree as (
        select id from unnest(p_ids) as given (id)
        union
        select child.id
        from tree
        cross join lateral (
            select task.id from rolecall.tasks as task where task.parent_id = tree.id offset 0
        ) as child
    )
    select coalesce(array_agg(id), '{}') from tree
$$;

-- Locks open tasks in the order that all transactions use: first tasks that are never unparked, children
-- before parents, then keys, then the tasks that wait for these.
-- locks: running, waiting and blocked tasks and those without a key: first those without children in id
-- order, then parents, the deepest first, in id order; keys rows of the others in key order; then those
create or replace function rolecall.hold_tasks(p_ids bigint[])
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
    v_keys text[];
begin
    perform from rolecall.tasks as task
    where task.id = any(p_ids) and (task.state <> 'pending' or task.key is null)
    order by case when task.open_children is not null then coalesce(task.depth, 0) end desc nulls first,
        task.id
    for update;
    -- A transaction that frees a key unparks tasks under the key's lock and must not find their rows
    -- locked.
    v_keys := array(
        select task.key from rolecall.tasks as task
        where task.id = any(p_ids) and task.state = 'pending' and task.key is not null
    );
    -- No task is parked for a key that has no row yet, and the locked tasks cannot be parked either.
    perform from rolecall.keys as lock where lock.key = any(v_keys) order by lock.key for update;
    perform from rolecall.tasks as task
    where task.id = any(p_ids) and task.state = 'pending'
    order by task.id
    for update;
end
$$;

-- Locks open tasks with all open tasks below them, in the order that all transactions use.
-- returns: the locked tasks
-- raises: RC090 one appeared or was claimed in the meantime: roll back and try again, because locking it
-- now would be out of order
-- locks: as hold_tasks does
create or replace function rolecall.hold_trees(p_ids bigint[])
returns bigint[]
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
    v_all bigint[] := rolecall.with_open_descendants(p_ids);
    v_held bigint[];
begin
    perform rolecall.hold_tasks(v_all);
    v_all := rolecall.with_open_descendants(v_all);
    v_held := array(
        select task.id from rolecall.tasks as task where task.id = any(v_all) for update skip locked
    );
    if cardinality(v_held) < (select count(*) from rolecall.tasks as task where task.id = any(v_all)) then
        perform rolecall.refuse('RC090', 'a task appeared or was claimed while this call waited for locks');
    end if;
    return v_held;
end
$$;

-- Requests cancellation of running tasks from their workers.
-- returns: which are running
-- locks: the caller holds the tasks
-- notifies: rolecall_cancel with the worker's id
create or replace function rolecall.request_cancellation(p_ids bigint[])
returns bigint[]
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_requested bigint[];
begin
    with requested as (
        update rolecall.tasks as task
        set cancel_requested_at = coalesce(task.cancel_requested_at, rolecall.clock())
        where task.id = any(p_ids) and task.state = 'running'
        returning task.id, task.worker_id
    ),
    notified as (
        select rolecall.notify('rolecall_cancel', worker_id::text) from requested group by worker_id
    )
    select array_agg(requested.id) into v_requested from requested, (select count(*) from notified) as every;
    return coalesce(v_requested, '{}');
end
$$;

-- Finds finished tasks by their ids, among those that finished at p_since or later. Searches the last two
-- days first and the other partitions only if a task is missing, because reading a partition locks all of
-- its indexes until the commit.
-- returns: one row per task found
create or replace function rolecall.find_finished(p_ids bigint[], p_since timestamptz default '-infinity')
returns table (
    id bigint, chain_id bigint, state rolecall.task_state, worker_id bigint, fence int,
    finished_at timestamptz
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
-- A plan for these values skips the partitions of other days.
set plan_cache_mode = force_custom_plan
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_yesterday timestamptz := date_trunc('day', rolecall.clock(), 'UTC') - interval '1 day';
    v_tomorrow timestamptz := v_yesterday + interval '2 days';
    v_lately timestamptz := greatest(v_yesterday, p_since);
    v_found int;
begin
    return query
    select id, chain_id, state, worker_id, fence, finished_at
    from rolecall.finished_tasks
    where id = any(p_ids) and finished_at >= v_lately and finished_at < v_tomorrow;
    get diagnostics v_found = row_count;
    if v_found < cardinality(array_remove(p_ids, null)) and p_since < v_yesterday then
        return query
        select id, chain_id, state, worker_id, fence, finished_at
        from rolecall.finished_tasks
        where id = any(p_ids) and finished_at >= p_since
            and (finished_at < v_yesterday or finished_at >= v_tomorrow);
    end if;
end
$$;

-- Lists the tasks of a chain, open and finished.
-- returns: their ids; nothing if the id is not that of a chain's first task
-- search_path: not set, so that it is inlined into the calling statement
create or replace function rolecall.tasks_of_chain(p_chain_id bigint)
returns table (id bigint)
language sql
stable
as $$
    select task.id from rolecall.tasks as task where task.id = p_chain_id and task.chain_index = 0
    union all
    select task.id from rolecall.tasks as task where task.chain_id = p_chain_id and task.chain_index > 0
    union all
    select task.id from rolecall.finished_tasks as task where task.id = p_chain_id and task.chain_index = 0
    union all
    select task.id
    from rolecall.finished_tasks as task
    where task.chain_id = p_chain_id and task.chain_index > 0
$$;

-- Finds the open task of a chain.
-- returns: its id; null if there is none
create or replace function rolecall.open_end_of_chain(p_chain_id bigint)
returns bigint
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    select coalesce(
        (select id from rolecall.tasks where chain_id = p_chain_id and chain_index > 0),
        (select id from rolecall.tasks where id = p_chain_id and chain_index = 0)
    )
$$;
