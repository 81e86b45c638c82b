-- Completes a task in any open state without a worker. Open tasks below it are cancelled.
-- returns: completed, finished (already), missing
-- raises: as end_from_outside
-- locks: as end_from_outside does
-- notifies: as end_from_outside does
-- public: yes
create or replace function rolecall.complete_task(
    p_id bigint, p_result jsonb default null, p_next jsonb default null
)
returns text
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    select ended.outcome
    from rolecall.end_from_outside(jsonb_build_array(
        jsonb_build_object('id', p_id, 'state', 'completed', 'result', p_result, 'next', p_next)
    )) as ended
$$;

-- Fails a task in any open state permanently, without a worker. Open tasks below it fail too.
-- returns: failed, finished (already), missing
-- raises: RC050 wrong isolation level; nothing of end_from_outside that concerns next tasks
-- locks: as end_from_outside does
-- notifies: as end_from_outside does
-- public: yes
create or replace function rolecall.fail_task(p_id bigint, p_error text default null)
returns text
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    select ended.outcome
    from rolecall.end_from_outside(jsonb_build_array(
        jsonb_build_object('id', p_id, 'state', 'failed', 'error', p_error)
    )) as ended
$$;

-- Completes the open task of a chain without a worker. With a continuation, the chain continues.
-- returns: completed, finished (the chain had already finished), missing
-- raises: as end_from_outside
-- locks: as end_from_outside does
-- notifies: as end_from_outside does
-- public: yes
create or replace function rolecall.complete_chain(
    p_chain_id bigint, p_result jsonb default null, p_next jsonb default null
)
returns text
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_outcome text;
begin
    -- A task that finished in the meantime may have been continued: then the next one is the end of the
    -- chain.
    loop
        v_outcome := rolecall.complete_task(
            coalesce(rolecall.open_end_of_chain(p_chain_id), p_chain_id), p_result, p_next
        );
        exit when v_outcome <> 'finished' or rolecall.open_end_of_chain(p_chain_id) is null;
    end loop;
    return v_outcome;
end
$$;

-- Finishes tasks in any open state without a worker: items `{"id", "state": completed | failed, "result",
-- "error", "next"}`, each id once. `next` is the same as in reports: follow_ups, continuation, siblings.
-- Open tasks below a completed one are cancelled.
-- returns: one row per given id: completed or failed, finished (already), missing
-- raises: RC042 another state, or invalid next tasks; RC050 wrong isolation level; and as store_next for
-- next tasks; RC051 another transaction holds the rows
-- locks: the trees of the tasks, one call at a time if that is more than one row; then as finish does
-- notifies: rolecall_cancel with the workers of running ones; rolecall_wake, if an idle worker waits for a
-- role
-- public: yes
create or replace function rolecall.end_from_outside(p_ends jsonb)
returns table (task_id bigint, outcome text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'
as $$
declare
    v_began constant timestamptz := clock_timestamp();
begin
    perform rolecall.require_read_committed();
    perform rolecall.require_durability();
    perform rolecall.check_ends(p_ends);
    loop
        begin
            return query select * from rolecall.try_to_end(p_ends);
            return;
        exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
            -- All locks have been released: the next try includes new tasks.
            perform rolecall.wait_a_while(v_began);
        end;
    end loop;
end
$$;

-- Validates the ends of tasks from outside: a final state, and only next tasks that are allowed with it.
-- raises: RC042 another state; next tasks although the task does not complete; children, because there is
-- no further step
create or replace function rolecall.check_ends(p_ends jsonb)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_problem text;
begin
    select case
        when item.state is null or item.state not in ('completed', 'failed')
            then format('task %s cannot end from outside as %L: completed or failed', item.id, item.state)
        when item.state = 'failed' then format('task %s fails: nothing comes next', item.id)
        else format('task %s ends: it can have no more children', item.id)
    end
    into v_problem
    from jsonb_to_recordset(p_ends) as item (id bigint, state text, next jsonb)
    where item.state is null or item.state not in ('completed', 'failed')
        or (
            item.next is not null and (
                item.state = 'failed' or nullif(item.next -> 'children', 'null') is not null
            )
        )
    limit 1;
    if found then
        perform rolecall.refuse('RC042', v_problem);
    end if;
end
$$;

-- Finishes tasks without a worker, unless one appeared or was claimed while this call waited for locks.
-- Open tasks below completed ones are cancelled. The fence is incremented, so that a running worker learns
-- that its task has finished.
-- returns: one row per given id: the final state, finished (already), missing
-- raises: as store_next for next tasks; RC090 one appeared or was claimed: roll back and try again
-- locks: the trees of the tasks; dedupe keys of next tasks in their order; dependents and parents, level by
-- level; keys rows in key order
-- notifies: rolecall_cancel with the workers of running ones; rolecall_wake, if an idle worker waits for a
-- role
create or replace function rolecall.try_to_end(p_ends jsonb)
returns table (task_id bigint, outcome text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
    v_ends jsonb := (
        select jsonb_agg(item.doc order by item.id)
        from (
            select distinct on (id) id, doc
            from jsonb_array_elements(p_ends) as doc, cast(doc ->> 'id' as bigint) as id
        ) as item
    );
    v_ids bigint[] := array(select (item ->> 'id')::bigint from jsonb_array_elements(v_ends) as item);
    v_held bigint[] := rolecall.hold_trees(v_ids);
    v_next jsonb := rolecall.next_of_ends(v_ends);
    v_below record;
    v_ended record;
begin
    select * into v_below from rolecall.cancel_below(array(
        select (item ->> 'id')::bigint
        from jsonb_array_elements(v_ends) as item
        where item ->> 'state' = 'completed'
    ), v_ids);
    perform rolecall.tell_workers(
        array(select task.worker_id from rolecall.tasks as task where task.id = any(v_ids))
    );
    select * into v_ended from rolecall.end_tasks((
        select jsonb_agg(item || jsonb_build_object(
            'outside', true, 'fence', task.fence + 1, 'continued',
            nullif(item -> 'next' -> 'continuation', 'null') is not null,
            'error', coalesce(nullif(item ->> 'error', ''), 'failed from outside')
        ))
        from jsonb_array_elements(v_ends) as item
        join rolecall.tasks as task on task.id = (item ->> 'id')::bigint
    ));
    if v_next is not null then
        perform rolecall.store_next(v_next);
    end if;
    perform rolecall.conclude(v_ended.endings || v_below.endings, v_ended.keys || v_below.keys);
    return query
    select (item ->> 'id')::bigint, case
        when (item ->> 'id')::bigint = any(v_held) then item ->> 'state'
        when exists (select from rolecall.find_finished(array[(item ->> 'id')::bigint])) then 'finished'
        else 'missing'
    end
    from jsonb_array_elements(p_ends) as item;
end
$$;

-- Collects the next tasks of tasks that are about to be finished from outside.
-- returns: an array as `store_next` takes it; null if there are none
create or replace function rolecall.next_of_ends(p_ends jsonb)
returns jsonb
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    select jsonb_agg(jsonb_build_object(
        'next', item.given, 'id', task.id, 'chain_id', task.chain_id, 'chain_index', task.chain_index,
        'parent_id', task.parent_id, 'parent_fence', task.parent_fence, 'depth', task.depth, 'priority',
        line.priority,
        'scheduled_for', task.scheduled_for, 'needed', task.needed, 'on_failure', task.on_failure
    ) order by task.id)
    from (
        select (doc -> 'id')::bigint as id,
            (
                select jsonb_object_agg(key, value)
                from jsonb_each(nullif(doc -> 'next', 'null'))
                where value <> 'null'
            ) as given
        from jsonb_array_elements(p_ends) as doc
    ) as item
    join rolecall.tasks as task on task.id = item.id
    join rolecall.lines as line on line.id = task.line_id
    where item.given is not null
$$;

-- Cancels the open tasks below tasks that finish without waiting for them, except those in p_but. Notifies
-- the workers of running ones.
-- returns: one row: the freed keys, and the endings that other tasks may wait for
-- locks: the caller holds the trees
-- notifies: rolecall_cancel with the workers of running ones
create or replace function rolecall.cancel_below(p_ids bigint[], p_but bigint[])
returns table (keys text[], endings rolecall.ending[])
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_below bigint[] := array(
        select tree.id
        from unnest(rolecall.with_open_descendants(p_ids)) as tree (id)
        where tree.id <> all(p_ids || p_but)
    );
begin
    if v_below = '{}' then
        return;
    end if;
    perform rolecall.request_cancellation(v_below);
    return query
    select return_tasks.keys, return_tasks.endings
    from rolecall.return_tasks((
        select jsonb_agg(jsonb_build_object('id', task.id, 'reason', 'cancelled'))
        from rolecall.tasks as task
        where task.id = any(v_below) and task.state <> 'running'
    )) as return_tasks;
end
$$;
