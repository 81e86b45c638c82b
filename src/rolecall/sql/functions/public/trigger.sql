-- Makes pending tasks that are due later due now, all or none; one that is due already keeps its place.
-- returns: one row a given id, in input order, with the moment since when it is due
-- raises: RC002 no such task; RC003 a task that is not pending; with its id as the detail; RC050 wrong isolation level
-- locks: as hold_tasks does
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.trigger(p_ids bigint[])
returns table (task_id bigint, scheduled_for timestamptz)
language plpgsql
volatile
set search_path = ''
set lock_timeout = '100ms'
as $$
begin
    perform rolecall.require_read_committed();
    perform rolecall.require_durability();
    loop
        begin
            return query select * from rolecall.try_to_trigger(p_ids);
            return;
        exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
            perform rolecall.wait_longer();
        end;
    end loop;
end
$$;
