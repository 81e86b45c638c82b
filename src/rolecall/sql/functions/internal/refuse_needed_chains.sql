-- Insists that no open task that stays needs one of some tasks, or waits for it as its child.
-- returns: nothing
-- raises: RC005, with the ids of the chain and of the task that needs it as the detail
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.refuse_needed_chains(p_task_ids bigint[])
returns void
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
declare
    v_tie record;
begin
    select task.chain_id, dependent.id into v_tie
    from unnest(p_task_ids) as given (id)
    cross join lateral (
        select open.chain_id, open.parent_id from rolecall.tasks as open where open.id = given.id
        union all
        select finished.chain_id, finished.parent_id from rolecall.finished_tasks as finished where finished.id = given.id
    ) as task
    cross join lateral (
        select task.parent_id as id
        union all
        select need.task_id from rolecall.needs as need where need.needed_id = given.id
    ) as tie
    join rolecall.tasks as dependent on dependent.id = tie.id
    where not exists (select from unnest(p_task_ids) as inside (id) where inside.id = dependent.id)
    order by task.chain_id, dependent.id
    limit 1;
    if found then
        raise exception using errcode = 'RC005', detail = format('%s %s', v_tie.chain_id, v_tie.id),
            message = format('chain %s is needed by task %s, which is open and stays', v_tie.chain_id, v_tie.id);
    end if;
end
$$;
