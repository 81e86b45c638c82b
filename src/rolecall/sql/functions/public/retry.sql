-- Brings failed and cancelled tasks back as pending, under their id and fence, with all their attempts before them; as blocked
-- where something that they need is open.
-- returns: one row a given id: pending, open (not finished), completed (not to be retried), duplicate (an open task has its
--          dedupe key), missing
-- raises: RC043 tasks that would wait for themselves; RC050 wrong isolation level
-- locks: open children and needed tasks, children before parents; open parents, the deepest first, in id order; finished_tasks rows in id order
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.retry(p_ids bigint[])
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
            return query select * from rolecall.try_to_retry(p_ids);
            return;
        exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
            perform rolecall.wait_longer();
        end;
    end loop;
end
$$;
