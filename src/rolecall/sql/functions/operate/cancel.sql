-- Cancels tasks and all that is open below them: open ones at once, a running one by telling its worker.
-- returns: one row a given id: cancelled, requested (it was running), finished (it had ended), missing
-- raises: RC050 wrong isolation level
-- locks: running tasks and those without a key in id order; keys of the others in order, then those tasks
-- notifies: rolecall_cancel with the worker's id
-- public: yes
create or replace function rolecall.cancel(p_ids bigint[])
returns table (task_id bigint, outcome text)
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
            return query select * from rolecall.try_to_cancel(p_ids);
            return;
        exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
            -- All locks are gone again: the next try takes what has come, and asks what was claimed to stop.
            perform rolecall.wait_longer();
        end;
    end loop;
end
$$;
