-- Tells who needs what has ended, children or others: a task whose last open need that was may run; one that cannot do without it
-- fails.
-- returns: one row: the keys and endings of those that failed
-- raises: nothing
-- locks: needs rows; then dependents in id order
-- notifies: rolecall_wake, where an idle worker waits for a role
create or replace function rolecall.release_dependents(p_endings rolecall.ending[], p_children boolean)
returns table (keys text[], endings rolecall.ending[])
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
declare
    v_hit jsonb;
begin
    if not exists (select from unnest(p_endings) as ending where ending.needed) then
        return;
    end if;
    with met as (
        update rolecall.needs as need
        set outcome = ending.state
        from unnest(p_endings) as ending
        where ending.needed and need.outcome is null and (
            (not need.whole_chain and need.needed_id = ending.id)
            or (need.whole_chain and need.needed_id = ending.chain_id and ending.continued is not true)
        ) and p_children = exists (select from rolecall.tasks as task where task.id = need.task_id and task.parent_id is not null)
        returning need.task_id, ending.id as needed_id, need.on_failure = 'fail' and ending.state <> 'completed' as fatal
    )
    select jsonb_agg(jsonb_build_object('id', hit.task_id, 'number', hit.number, 'culprit', hit.culprit)) into v_hit
    from (
        select met.task_id, count(*) as number, min(met.needed_id) filter (where met.fatal) as culprit
        from met
        group by met.task_id
    ) as hit;
    if v_hit is not null then
        return query select * from rolecall.settle_blocked(v_hit);
    end if;
end
$$;
