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
