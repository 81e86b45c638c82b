-- Cancels what is still open of a schedule's last run, where the schedule wants it so. It waits for nobody's
-- open transaction.
-- returns: false where one keeps it from that: the schedule is to be looked at again later
-- locks: what try_to_cancel locks, waiting a moment only
-- notifies: rolecall_cancel with the workers' ids
create or replace function rolecall.make_way(p_schedule rolecall.schedules)
returns boolean
language plpgsql
volatile
set search_path = ''
set lock_timeout = '10ms'
as $$
begin
    if p_schedule.overlap = 'cancel' and rolecall.is_open(p_schedule.last_task_id, true) then
        perform rolecall.try_to_cancel(array[rolecall.open_end_of_chain(p_schedule.last_task_id)]);
    end if;
    return true;
exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
    return false;
end
$$;
