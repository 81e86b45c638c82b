-- Finds the tasks that changed since a moment, or were created after an id, with those whose children or needs they are.
-- returns: one row a task, at most one more than the limit; its version tells two changes apart that end in the same state
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.changed_tasks(p_since timestamptz, p_after_id bigint, p_limit int)
returns table (id bigint, parent_id bigint, role text, state rolecall.task_state, version text)
language plpgsql
stable
set search_path = ''
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
    -- Days to come have partitions already: an end to the range keeps them out of it.
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
        select task.id, task.parent_id from rolecall.tasks as task where task.id > p_after_id order by task.id limit p_limit + 1
    ),
    touched as (
        select born.id from born
        union
        select begun.id from rolecall.begun_tasks(p_since) as begun (id)
        union
        select event.task_id from rolecall.task_events as event where event.at >= p_since and event.at < v_until
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
        select task.id, task.parent_id, task.line_id, task.state,
            concat_ws('/', task.fence, task.attempt, coalesce(task.step_number, task.step), task.open_children, task.started_at is not null)
        from touched
        join rolecall.tasks as task on task.id = touched.id
        limit p_limit + 1
    ) as changed
    join rolecall.lines as line on line.id = changed.line_id;
end
$$;
