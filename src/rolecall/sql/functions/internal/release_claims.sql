-- Gives claims back, without waiting for anybody's open transaction: what one keeps from it comes back as busy.
-- returns: one row a claim that was not given back: busy, or why it was lost
-- raises: nothing
-- locks: tasks rows in id order; keys rows in key order; for each wait a tenth of a second at most, for all together half a second
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.release_claims(p_worker_id bigint, p_claims jsonb)
returns table (task_id bigint, reason text)
language plpgsql
volatile
set search_path = ''
set lock_timeout = '100ms'
as $$
begin
    begin
        return query select * from rolecall.try_to_release(p_worker_id, p_claims);
        return;
    exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
        -- Somebody has something that one of them needs: now each for itself.
        null;
    end;
    return query
    select apart.task_id, apart.reason
    from rolecall.release_apart(p_worker_id, rolecall.children_together(p_claims), clock_timestamp() + interval '400 ms') as apart;
end
$$;
