-- Takes a worker off the roll and gives back what it still holds.
-- returns: how many tasks it held
-- raises: RC050 wrong isolation level
-- locks: the workers row; tasks rows in id order; keys rows in key order
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.deregister_worker(p_worker_id bigint)
returns int
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
            return rolecall.try_to_deregister(p_worker_id);
        exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
            perform rolecall.wait_longer();
        end;
    end loop;
end
$$;
