-- Cancels what is still open of the last runs of those schedules that want it so, all at once: tasks are locked in one order.
-- returns: nothing
-- raises: nothing
-- locks: other cancels; the tasks
-- notifies: rolecall_cancel with the workers' ids
create or replace function rolecall.make_way(p_due rolecall.schedules[])
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_open bigint[] := array(
        select rolecall.open_end_of_chain(due.last_task_id)
        from unnest(p_due) as due
        where due.overlap = 'cancel' and rolecall.is_open(due.last_task_id, true)
    );
begin
    if v_open <> '{}' then
        perform rolecall.cancel(v_open);
    end if;
end
$$;
