-- Stores a batch of tasks, all or none. An open task with the same handler and dedupe_key stands for the new
-- one, unless that says otherwise (`dedupe`).
-- returns: one row: the ids in input order, and which of them already stood
-- raises: as store_tasks
-- locks: as `store_tasks`: dedupe keys in their order; waits for an uncommitted task with the same one
-- notifies: rolecall_wake, where an idle worker waits for the role
-- public: yes
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

-- Stores a batch whose tasks need or change others, as store_tasks does.
-- returns: one row: the ids in input order, and which of them already stood
-- raises: as store_tasks
-- locks: as store_tasks
-- notifies: as store_tasks
create or replace function rolecall.store_beside_others(p_tasks jsonb)
returns table (ids bigint[], deduplicated bigint[])
language plpgsql
volatile
set search_path = ''
set lock_timeout = '100ms'
as $$
begin
    loop
        begin
            return query select * from rolecall.store_tasks(p_tasks, null);
            return;
        exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
            perform rolecall.wait_longer();
        end;
    end loop;
end
$$;
