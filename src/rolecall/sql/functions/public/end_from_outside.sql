-- Ends tasks without a worker, in whatever open state they are: items `{"id", "state": completed | failed, "result", "error", "next"}`, each
-- id once. `next` is as in reports: follow_ups, continuation, siblings. What a completed one leaves open below it is cancelled.
-- returns: one row a given id: completed or failed, finished (it had ended before), missing
-- raises: RC031, RC040 for a next task that is none; RC042 for another state or what cannot come next; RC050 wrong isolation level
-- locks: the trees of the tasks, one call at a time where that is more than one row; then as finish does
-- notifies: rolecall_cancel with the workers of running ones; rolecall_wake, where an idle worker waits for a role
create or replace function rolecall.end_from_outside(p_ends jsonb)
returns table (task_id bigint, outcome text)
language plpgsql
volatile
set search_path = ''
set lock_timeout = '100ms'
as $$
begin
    perform rolecall.require_read_committed();
    perform rolecall.require_durability();
    perform rolecall.check_ends(p_ends);
    loop
        begin
            return query select * from rolecall.try_to_end(p_ends);
            return;
        exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
            -- All locks are gone again: the next try takes what has come.
            perform rolecall.wait_longer();
        end;
    end loop;
end
$$;
