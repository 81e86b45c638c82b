-- Lets go of tasks whose lease ran out, or of those among them that nobody has renewed for p_silent_for. After a restart or a failover of the server it waits one lease, so that the workers
-- that live can renew. Sessions that still hang in a task which they lost, or whose worker is gone, are ended.
-- returns: one row a rescued task, with the state it went to
-- raises: RC050 wrong isolation level
-- locks: tasks rows, skipping locked ones; keys rows in key order
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.rescue(p_limit int default 1000, p_silent_for interval default '0 s')
returns table (task_id bigint, state rolecall.task_state)
language plpgsql
volatile
set search_path = ''
set lock_timeout = '100ms'
as $$
begin
    perform rolecall.require_read_committed();
    loop
        begin
            return query select * from rolecall.try_to_rescue(p_limit, p_silent_for);
            return;
        exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
            perform rolecall.wait_longer();
        end;
    end loop;
end
$$;
