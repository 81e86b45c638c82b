-- Stores a batch of tasks, all or none; an open task with the same handler and dedupe_key stands for the new one.
-- returns: one row: the ids in input order, and which of them already stood
-- raises: RC031 unknown role, RC040 invalid task
-- locks: dedupe keys in their order; waits for an uncommitted task with the same one
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.enqueue_many(p_tasks jsonb)
returns table (ids bigint[], deduplicated bigint[])
language plpgsql
volatile
set search_path = ''
as $$
begin
    perform rolecall.require_durability();
    return query select * from rolecall.store_tasks(p_tasks, '{}', '{}');
end
$$;
