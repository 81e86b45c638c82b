-- Cancels tasks, unless one of them came, or was claimed, while this call waited for others.
-- returns: one row a given id: cancelled, requested (it was running), finished (it had ended), missing
-- raises: RC090 one came or was claimed: undo this and try again, as to wait for it now would be out of order
-- locks: running tasks and those whose key has no row in id order; keys of the others in key order, then those tasks
-- notifies: rolecall_cancel with the worker's id
create or replace function rolecall.try_to_cancel(p_ids bigint[])
returns table (task_id bigint, outcome text)
language plpgsql
volatile
set search_path = ''
set enable_seqscan = off
as $$
declare
    v_held bigint[];
    v_asked bigint[];
    v_keys text[];
    v_losses jsonb;
    v_ended bigint[];
begin
    v_held := array(
        select task.id from rolecall.tasks as task
        where task.id = any(p_ids)
            and (task.state = 'running' or not exists (select from rolecall.keys as known where known.key = task.key))
        order by task.id
        for update
    );
    v_asked := rolecall.request_cancellation(v_held);
    -- Whoever frees a key brings a parked row back under the key's lock, and must not find that row locked.
    v_keys := array(
        select lock.key from rolecall.keys as lock
        where lock.key = any(array(
            select task.key from rolecall.tasks as task
            where task.id = any(p_ids) and task.state <> 'running' and task.key is not null
        ))
        order by lock.key
        for update
    );
    with standing as (
        select task.id from rolecall.tasks as task
        where task.id = any(p_ids) and task.state <> 'running' and (task.id = any(v_held) or task.key = any(v_keys))
        order by task.id
        for update
    )
    select jsonb_agg(jsonb_build_object('id', standing.id, 'reason', 'cancelled')) into v_losses from standing;
    v_ended := array(select gone.task_id from rolecall.let_go(v_losses) as gone);
    if exists (select from rolecall.tasks where id = any(p_ids) and id <> all(v_asked)) then
        perform rolecall.refuse('RC090', 'a task came or was claimed while others were waited for');
    end if;
    return query
    select given.id, case
        when given.id = any(v_asked) then 'requested'
        when given.id = any(v_ended) then 'cancelled'
        when exists (select from rolecall.finished_tasks as finished where finished.id = given.id) then 'finished'
        else 'missing'
    end
    from unnest(p_ids) as given (id);
end
$$;
