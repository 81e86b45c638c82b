-- Cancels tasks: open ones at once, a running one by telling its worker.
-- returns: one row a given id: cancelled, requested (it was running), finished (it had ended), missing
-- raises: nothing
-- locks: running tasks and those without a key in id order; keys rows of the others in key order, then those tasks in id order
-- notifies: rolecall_cancel with the worker's id
create or replace function rolecall.cancel(p_ids bigint[])
returns table (task_id bigint, outcome text)
language plpgsql
volatile
set search_path = ''
as $$
begin
    perform rolecall.require_durability();
    loop
        begin
            return query select * from rolecall.try_to_cancel(p_ids);
            return;
        exception when sqlstate 'RC090' then
            -- All locks are gone again: the next turn takes what has come, and asks what was claimed to stop.
            null;
        end;
    end loop;
end
$$;
