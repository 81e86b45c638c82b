-- Deletes whole chains with the trees below them and all that is stored about them; with p_cascade also what they need, and so on.
-- Ids that are no chain's are left out. The worker of a running task is told that it is deleted.
-- returns: one row a deleted chain, with how many tasks it had
-- raises: RC005 an open task that stays needs one of them, or waits for it as its child; RC050 wrong isolation level
-- locks: the open tasks as hold_trees does; then finished ones; keys rows in key order
-- notifies: rolecall_cancel with the workers of running ones; rolecall_wake, where an idle worker waits for a role
create or replace function rolecall.delete_chains(p_ids bigint[], p_cascade boolean default false)
returns table (chain_id bigint, tasks int)
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
            return query select * from rolecall.try_to_delete_chains(p_ids, p_cascade);
            return;
        exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
            -- All locks are gone again: the next try takes what has come.
            perform rolecall.wait_longer();
        end;
    end loop;
end
$$;
