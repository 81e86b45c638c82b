-- Finds finished tasks by their ids, of those that ended at a moment or since. Most that are asked for ended
-- lately: only where one did not are the other days looked into, as whoever looks into a day holds a lock on
-- each of its indexes until the commit.
-- returns: one row a task that is found
create or replace function rolecall.find_finished(p_ids bigint[], p_since timestamptz default '-infinity')
returns table (
    id bigint, chain_id bigint, state rolecall.task_state, worker_id bigint, fence int,
    finished_at timestamptz
)
language plpgsql
volatile
set search_path = ''
-- A plan for these very moments leaves out the other days.
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
