-- Cancels tasks: open ones at once, a running one by telling its worker.
-- returns: one row a given id: cancelled, requested (it was running), finished (it had ended), missing
-- raises: nothing
-- locks: other cancels; running tasks and those without a key in id order; keys of the others in order, then those tasks
-- notifies: rolecall_cancel with the worker's id
create or replace function rolecall.cancel(p_ids bigint[])
returns table (task_id bigint, outcome text)
language plpgsql
volatile
set search_path = ''
as $$
begin
    perform rolecall.require_durability();
    -- One at a time: a row that changed while it was waited for stays locked, out of order to another cancel.
    perform pg_advisory_xact_lock(7246926, -1);
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
