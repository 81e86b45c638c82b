-- Takes what a parent's handler returned and lets the task wait, if it has open children.
-- returns: whether it waits now
-- raises: nothing
-- locks: the caller holds the task
-- notifies: nothing
create or replace function rolecall.start_waiting(p_id bigint, p_result jsonb, p_gathers boolean)
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_task rolecall.tasks;
begin
    update rolecall.tasks as task
    set result = coalesce(p_result, task.result), gathers = p_gathers
    where task.id = p_id
    returning task.* into v_task;
    if v_task.open_children is null then
        return false;
    end if;
    insert into rolecall.task_events (task_id, at, kind, attempt, worker_id)
    values (p_id, rolecall.clock(), 'waiting', v_task.attempt, v_task.worker_id);
    update rolecall.tasks as task
    set state = 'waiting', worker_id = null, claimed_at = null, lease_until = null, deadline_at = null
    where task.id = p_id;
    return true;
end
$$;
