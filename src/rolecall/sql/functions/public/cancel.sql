-- Cancels tasks: open ones at once, a running one by telling its worker.
-- returns: one row a given id: cancelled, requested (it was running), finished (it had ended), missing
-- raises: nothing
-- locks: running tasks in id order; keys rows of the others in key order, then those tasks in id order
-- notifies: rolecall_cancel with the worker's id
create or replace function rolecall.cancel(p_ids bigint[])
returns table (task_id bigint, outcome text)
language plpgsql
volatile
set search_path = ''
set enable_seqscan = off
as $$
declare
    v_asked bigint[];
    v_losses jsonb;
    v_ended bigint[];
begin
    perform rolecall.require_durability();
    v_asked := rolecall.request_cancellation(p_ids);
    -- Whoever frees a key brings a parked row back under the key's lock, and must not find that row locked.
    perform from rolecall.keys
    where key = any(array(
        select task.key from rolecall.tasks as task
        where task.id = any(p_ids) and task.state <> 'running' and task.key is not null
    ))
    order by key
    for update;
    with open as (
        select task.id from rolecall.tasks as task
        where task.id = any(p_ids) and task.state <> 'running'
        order by task.id
        for update
    )
    select jsonb_agg(jsonb_build_object('id', open.id, 'reason', 'cancelled')) into v_losses from open;
    v_ended := array(select gone.task_id from rolecall.let_go(v_losses) as gone);
    -- Those that a claim took in between.
    v_asked := v_asked || rolecall.request_cancellation(
        array(select given.id from unnest(p_ids) as given (id) where given.id <> all(v_asked || v_ended))
    );
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
