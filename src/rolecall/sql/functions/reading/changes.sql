-- Lists the tasks that have changed since a time, according to their rows and events: created, claimed,
-- started, released, waiting, reopened or finished; also the tasks whose children or needs those are. Reads
-- only what the engine's indexes cover. Without a time, returns only the horizon.
-- returns: one row per changed task, at most one more than the limit, each with the horizon: the time, the
-- last assigned id, the snapshot, and the transactions that write (a snapshot contains only those older
-- than the last finished transaction); at least one row
-- public: yes
create or replace function rolecall.changes(p_since timestamptz, p_after_id bigint, p_limit int)
returns table (
    at timestamptz, last_id bigint, snapshot pg_snapshot, writing xid[],
    id bigint, parent_id bigint, role text, state rolecall.task_state, version text
)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select rolecall.clock(), case when drawn.is_called then drawn.last_value else 0 end,
        pg_current_snapshot(),
        array(
            select session.backend_xid from pg_stat_activity as session where session.backend_xid is not null
        ),
        task.id, task.parent_id, task.role, task.state, task.version
    from rolecall.tasks_id_seq as drawn
    left join rolecall.changed_tasks(p_since, p_after_id, p_limit) as task on true
$$;

-- Finds the tasks that have changed since a time, or were created after an id, and the tasks whose children
-- or needs they are.
-- returns: one row per task, at most one more than the limit; its version distinguishes two changes with
-- the same resulting state
create or replace function rolecall.changed_tasks(p_since timestamptz, p_after_id bigint, p_limit int)
returns table (id bigint, parent_id bigint, role text, state rolecall.task_state, version text)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
    -- Future days already have partitions; an end of the range excludes them.
    v_until timestamptz := rolecall.clock() + interval '1 hour';
begin
    return query
    with ended as materialized (
        select task.id, task.parent_id, task.chain_id, task.line_id, task.state, task.fence
        from rolecall.finished_tasks as task
        where task.finished_at >= p_since and task.finished_at < v_until
        limit p_limit + 1
    ),
    born as materialized (
        select task.id, task.parent_id
        from rolecall.tasks as task
        where task.id > p_after_id
        order by task.id limit p_limit + 1
    ),
    touched as (
        select born.id from born
        union
        select begun.id from rolecall.started_tasks(p_since) as begun (id)
        union
        select event.task_id
        from rolecall.task_events as event
        where event.at >= p_since and event.at < v_until
        union
        select born.parent_id from born
        union
        select ended.parent_id from ended
        union
        select need.task_id
        from (select ended.id from ended union select ended.chain_id from ended) as met
        join rolecall.needs as need on need.needed_id = met.id
    )
    select changed.id, changed.parent_id, line.role, changed.state, changed.version
    from (
        select ended.id, ended.parent_id, ended.line_id, ended.state, ended.fence::text as version from ended
        union all
        select task.id, task.parent_id, task.line_id,
            rolecall.shown_state(task.state, task.key_slot, task.started_at) as state,
            concat_ws(
                '/', task.fence, task.attempt, task.step_number, task.open_children,
                task.started_at is not null
            )
        from touched
        join rolecall.tasks as task on task.id = touched.id
        limit p_limit + 1
    ) as changed
    join rolecall.lines as line on line.id = changed.line_id;
end
$$;

-- Finds the running tasks that were claimed or started since a time.
-- returns: their ids
create or replace function rolecall.started_tasks(p_since timestamptz)
returns setof bigint
language plpgsql
stable
set search_path = pg_catalog, pg_temp
-- A plain index scan marks the entries of finished tasks as dead, so that the next scan skips them.
set enable_bitmapscan = off
as $$
begin
    return query
    select task.id
    from rolecall.tasks as task
    where task.state = 'running' and (task.claimed_at >= p_since or task.started_at >= p_since);
end
$$;
