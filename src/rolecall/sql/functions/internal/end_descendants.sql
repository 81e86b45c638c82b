-- Ends what failed and cancelled tasks leave open: their own children, and the siblings of a child that takes them with it. What is
-- running is asked to stop.
-- returns: one row: the keys and endings of those that ended
-- raises: nothing
-- locks: what hold_tasks locks, of all that is open below
-- notifies: rolecall_cancel with the workers of running ones
create or replace function rolecall.end_descendants(p_endings rolecall.ending[])
returns table (keys text[], endings rolecall.ending[])
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
declare
    v_orphans bigint[];
    v_siblings bigint[];
begin
    v_orphans := array(
        select child.id
        from unnest(p_endings) as ending
        join rolecall.tasks as child on child.parent_id = ending.id
        where ending.open_children is not null and ending.state = 'failed'
    );
    v_siblings := array(
        select distinct child.id
        from unnest(p_endings) as ending
        join rolecall.tasks as child on child.parent_id = case when ending.state = 'cancelled' then ending.id else ending.parent_id end
        where (ending.open_children is not null and ending.state = 'cancelled')
            or (ending.on_failure = 'cancel_siblings' and ending.state <> 'completed')
    );
    if cardinality(v_orphans || v_siblings) = 0 then
        return;
    end if;
    -- With all below them: whoever ends one of those waits for its parent.
    perform rolecall.hold_tasks(rolecall.with_open_descendants(v_orphans || v_siblings));
    perform rolecall.request_cancellation(v_orphans || v_siblings);
    return query select * from rolecall.end_tasks((
        select jsonb_agg(jsonb_build_object('id', task.id) || case
            when task.id = any(v_orphans) then '{"state": "failed", "error": "Parent task failed"}'::jsonb
            else '{"state": "cancelled"}'
        end)
        from rolecall.tasks as task
        where task.id = any(v_orphans || v_siblings) and task.state <> 'running'
    ));
end
$$;
