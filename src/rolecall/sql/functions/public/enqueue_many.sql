-- Stores a batch of tasks, all or none. An open task with the same handler and dedupe_key stands for the new one, unless that says
-- otherwise (`dedupe`).
-- returns: one row: the ids in input order, and which of them already stood
-- raises: RC031 unknown role, RC040 invalid task, RC045 a dedupe_key that is to be new
-- locks: as `store_tasks`: dedupe keys in their order; waits for an uncommitted task with the same one
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.enqueue_many(p_tasks jsonb)
returns table (ids bigint[], deduplicated bigint[])
language plpgsql
volatile
set search_path = ''
as $$
begin
    perform rolecall.require_durability();
    if p_tasks @? '$[*] ? (exists (@.needs) || exists (@.dedupe))' then
        return query select * from rolecall.store_beside_others(p_tasks);
    else
        return query select * from rolecall.store_tasks(p_tasks, null);
    end if;
end
$$;
