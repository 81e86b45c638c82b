-- Cancels what is open below tasks that end without waiting for it, but for some that end otherwise; what is running is asked to
-- stop.
-- returns: one row: the keys that were given up, and the endings that others may wait for
-- raises: nothing
-- locks: the caller holds the trees
-- notifies: rolecall_cancel with the workers of running ones
create or replace function rolecall.cancel_below(p_ids bigint[], p_but bigint[])
returns table (keys text[], endings rolecall.ending[])
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
declare
    v_below bigint[] := array(
        select tree.id from unnest(rolecall.with_open_descendants(p_ids)) as tree (id) where tree.id <> all(p_ids || p_but)
    );
begin
    if v_below = '{}' then
        return;
    end if;
    perform rolecall.request_cancellation(v_below);
    return query
    select let_go.keys, let_go.endings
    from rolecall.let_go((
        select jsonb_agg(jsonb_build_object('id', task.id, 'reason', 'cancelled'))
        from rolecall.tasks as task
        where task.id = any(v_below) and task.state <> 'running'
    )) as let_go;
end
$$;
