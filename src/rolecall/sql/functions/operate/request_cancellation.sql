-- Asks the workers of running tasks to stop them.
-- returns: which are running
-- locks: the caller holds the tasks
-- notifies: rolecall_cancel with the worker's id
create or replace function rolecall.request_cancellation(p_ids bigint[])
returns bigint[]
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
declare
    v_asked bigint[];
begin
    with asked as (
        update rolecall.tasks as task
        set cancel_requested_at = coalesce(task.cancel_requested_at, rolecall.clock())
        where task.id = any(p_ids) and task.state = 'running'
        returning task.id, task.worker_id
    ),
    told as (
        select rolecall.notify('rolecall_cancel', worker_id::text) from asked group by worker_id
    )
    select array_agg(asked.id) into v_asked from asked, (select count(*) from told) as every;
    return coalesce(v_asked, '{}');
end
$$;
