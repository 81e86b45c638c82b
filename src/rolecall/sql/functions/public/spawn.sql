-- Adds children to a task that runs or waits: more work that it is to wait for. A SQL handler calls it for its own task.
-- returns: the children's ids in input order; a dedupe_key that already stands gives the id of a task that is no child
-- raises: RC031, RC040 for what is no task; RC043 for one that would wait for itself; RC044 where the parent is not open or has children of the other kind; RC050 wrong isolation level
-- locks: needed tasks, children before parents; the parent; dedupe keys in their order
-- notifies: rolecall_wake, where an idle worker waits for a child's role
create or replace function rolecall.spawn(p_parent_id bigint, p_tasks jsonb, p_serial boolean default null)
returns bigint[]
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
            return rolecall.try_to_spawn(p_parent_id, p_tasks, p_serial);
        exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
            perform rolecall.wait_longer();
        end;
    end loop;
end
$$;
