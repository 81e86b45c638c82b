-- Lets tasks that have come back wait for what they need, where that is open: it never ended, or it has come back too.
-- returns: nothing
-- raises: RC043 needs in a circle
-- locks: the needed tasks, children before parents
-- notifies: nothing
create or replace function rolecall.await_needs_again(p_ids bigint[])
returns void
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
declare
    v_id bigint;
begin
    update rolecall.needs as need
    set outcome = null
    where need.task_id = any(p_ids) and need.outcome <> 'completed' and need.on_failure = 'fail'
        and rolecall.is_open(need.needed_id, need.whole_chain);
    perform rolecall.mark_needed(p_ids);
    update rolecall.needs as need
    set outcome = coalesce(rolecall.outcome_of(need.needed_id, need.whole_chain), 'cancelled')
    where need.task_id = any(p_ids) and need.outcome is null and not rolecall.is_open(need.needed_id, need.whole_chain);
    update rolecall.tasks as task
    set state = 'blocked', open_needs = open.number
    from (
        select need.task_id, count(*)::int as number
        from rolecall.needs as need
        where need.task_id = any(p_ids) and need.outcome is null
        group by need.task_id
    ) as open
    where task.id = open.task_id;
    for v_id in
        select task.id from rolecall.tasks as task
        where task.id = any(p_ids) and (task.state = 'blocked' or (task.parent_id is not null and task.key is not null))
    loop
        perform rolecall.refuse_circle(array[v_id], v_id);
    end loop;
end
$$;
