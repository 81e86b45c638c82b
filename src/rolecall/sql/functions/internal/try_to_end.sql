-- Ends tasks without a worker, unless one came, or was claimed, while this call waited for others. What a completed one leaves open
-- below it is cancelled. The fence moves on, so that a running worker hears that its task has ended.
-- returns: one row a given id: the state it ended in, finished (it had ended), missing
-- raises: RC031, RC040 for a next task that is none; RC090 one came or was claimed: undo this and try again
-- locks: the trees of the tasks; dedupe keys of next tasks in their order; dependents and parents, level by level; keys rows in key order
-- notifies: rolecall_cancel with the workers of running ones; rolecall_wake, where an idle worker waits for a role
create or replace function rolecall.try_to_end(p_ends jsonb)
returns table (task_id bigint, outcome text)
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
declare
    v_ends jsonb := (
        select jsonb_agg(item.doc order by item.id)
        from (select distinct on (id) id, doc from jsonb_array_elements(p_ends) as doc, cast(doc ->> 'id' as bigint) as id) as item
    );
    v_ids bigint[] := array(select (item ->> 'id')::bigint from jsonb_array_elements(v_ends) as item);
    v_held bigint[] := rolecall.hold_trees(v_ids);
    v_next jsonb := rolecall.next_of_ends(v_ends);
    v_below record;
    v_ended record;
begin
    select * into v_below from rolecall.cancel_below(array(
        select (item ->> 'id')::bigint from jsonb_array_elements(v_ends) as item where item ->> 'state' = 'completed'
    ), v_ids);
    perform rolecall.tell_workers(array(select task.worker_id from rolecall.tasks as task where task.id = any(v_ids)));
    select * into v_ended from rolecall.end_tasks((
        select jsonb_agg(item || jsonb_build_object(
            'outside', true, 'fence', task.fence + 1, 'continued', nullif(item -> 'next' -> 'continuation', 'null') is not null,
            'error', coalesce(nullif(item ->> 'error', ''), 'failed from outside')
        ))
        from jsonb_array_elements(v_ends) as item
        join rolecall.tasks as task on task.id = (item ->> 'id')::bigint
    ));
    if v_next is not null then
        perform rolecall.store_next(v_next);
    end if;
    perform rolecall.conclude(v_ended.endings || v_below.endings, v_ended.keys || v_below.keys);
    return query
    select (item ->> 'id')::bigint, case
        when (item ->> 'id')::bigint = any(v_held) then item ->> 'state'
        when exists (select from rolecall.find_finished(array[(item ->> 'id')::bigint])) then 'finished'
        else 'missing'
    end
    from jsonb_array_elements(p_ends) as item;
end
$$;
