-- Finds the running tasks that were claimed or started since a moment.
-- returns: their ids
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.begun_tasks(p_since timestamptz)
returns setof bigint
language plpgsql
stable
set search_path = ''
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
-- A plain index scan marks the entries of what has ended, so that the next one passes over them.
set enable_bitmapscan = off
as $$
begin
    return query
    select task.id
    from rolecall.tasks as task
    where task.state = 'running' and (task.claimed_at >= p_since or task.started_at >= p_since);
end
$$;
