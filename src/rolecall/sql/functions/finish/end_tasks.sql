-- Ends tasks in whatever open state they are: each item says the state, and may say a result, an error, the
-- fence that the end leaves behind, that no worker did it (outside) and that its chain goes on (continued).
-- What a completed one kept as its result stays its result, if the item says none.
-- returns: one row: their keys, and those endings that others may wait for
-- locks: the caller holds the tasks; what the hooks lock
-- notifies: what the hooks notify
create or replace function rolecall.end_tasks(p_ends jsonb)
returns table (keys text[], endings rolecall.ending[])
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
begin
    return query
    with given as materialized (
        select * from jsonb_to_recordset(p_ends) as item (
            id bigint, state rolecall.task_state, result jsonb, error text, fence int, outside boolean,
            continued boolean
        )
    ),
    ended as (
        delete from rolecall.tasks as task
        using given
        where task.id = given.id
        returning task.*, given.state as last_state, given.result as last_result, given.error as last_error,
            coalesce(given.fence, task.fence) as last_fence, given.outside, given.continued
    ),
    moved as (
        insert into rolecall.finished_tasks (
            id, chain_id, chain_index, created_at, scheduled_for, claimed_at, started_at, finished_at,
            worker_id, line_id, fence, attempt, max_attempts, state, key, dedupe_key, payload, retry, info,
            result, error,
            origin_id, parent_id, parent_fence, depth, on_failure, continued, dedupe_pending, timeout
        )
        select
            id, chain_id, chain_index, created_at, scheduled_for, claimed_at, started_at, rolecall.clock(),
            case when outside is not true then worker_id end, line_id,
            last_fence, attempt, max_attempts, last_state, key, dedupe_key, payload, retry,
            coalesce(children_info || coalesce(info, '{}'), info),
            case when last_state = 'completed' then coalesce(last_result, result) end,
            case when last_state <> 'completed' then coalesce(last_error, error) end,
            origin_id, parent_id, parent_fence, depth, on_failure, continued, dedupe_pending, timeout
        from ended
    )
    select
        array_agg(distinct key) filter (where key is not null),
        array_agg(
            (
                id, last_state, chain_id, parent_id, depth, on_failure, needed, coalesce(continued, false),
                open_children
            )::rolecall.ending
            order by id
        ) filter (where parent_id is not null or needed or open_children is not null)
    from ended;
    perform rolecall.run_after_hooks(
        array(select (item ->> 'id')::bigint from jsonb_array_elements(p_ends) as item)
    );
end
$$;
