-- Cancels tasks: open ones at once, a running one by telling its worker.
-- returns: one row a given id: cancelled, requested (it was running), finished (it had ended), missing
-- raises: nothing
-- locks: tasks rows in id order
-- notifies: rolecall_cancel with the worker's id
create or replace function rolecall.cancel(p_ids bigint[])
returns table (task_id bigint, outcome text)
language plpgsql
volatile
set search_path = ''
set enable_seqscan = off
as $$
declare
    v_losses jsonb;
    v_asked bigint[];
    v_workers bigint[];
    v_ended bigint[];
begin
    perform rolecall.require_durability();
    perform from rolecall.tasks where id = any(p_ids) order by id for update;
    with asked as (
        update rolecall.tasks as task
        set cancel_requested_at = coalesce(task.cancel_requested_at, rolecall.clock())
        where task.id = any(p_ids) and task.state = 'running'
        returning task.id, task.worker_id
    )
    select array_agg(asked.id), array_agg(distinct asked.worker_id) into v_asked, v_workers from asked;
    perform pg_notify('rolecall_cancel', worker::text) from unnest(v_workers) as worker;
    select jsonb_agg(jsonb_build_object('id', task.id, 'reason', 'cancelled')) into v_losses
    from rolecall.tasks as task
    where task.id = any(p_ids) and task.state <> 'running';
    v_ended := array(select gone.task_id from rolecall.let_go(v_losses) as gone);
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
