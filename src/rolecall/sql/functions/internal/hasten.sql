-- Makes a pending task due now; leaves one alone that is due, runs, waits or has just ended.
-- returns: nothing
-- raises: nothing
-- locks: as hold_tasks does, where the task is pending and due later
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.hasten(p_task_id bigint)
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
    if exists (
        select from rolecall.tasks as task
        where task.id = p_task_id and task.state = 'pending' and task.scheduled_for > rolecall.clock()
    ) then
        perform rolecall.trigger(array[p_task_id]);
    end if;
exception when sqlstate 'RC002' or sqlstate 'RC003' then
    -- It was claimed or ended while its lock was waited for.
    null;
end
$$;
