-- Gives claims back, without waiting for anybody's open transaction: what one keeps from it comes back as
-- busy.
-- returns: one row a claim that was not given back: busy, or why it was lost
-- locks: tasks rows in id order; keys rows in key order; for each wait a tenth of a second at most, for all
-- together half a second
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
    from rolecall.release_apart(
        p_worker_id, rolecall.children_together(p_claims), clock_timestamp() + interval '400 ms'
    ) as apart;
end
$$;

-- Gives those claims back that can be given back at once: all of them, else the halves each for itself, until
-- it is found who is kept waiting.
-- returns: one row a claim that was not given back: busy, or why it was lost
-- locks: as try_to_release, waiting a moment only
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.release_apart(p_worker_id bigint, p_claims jsonb, p_until timestamptz)
returns table (task_id bigint, reason text)
language plpgsql
volatile
set search_path = ''
set lock_timeout = '10ms'
as $$
begin
    begin
        return query select * from rolecall.try_to_release(p_worker_id, p_claims);
        return;
    exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
        null;
    end;
    if jsonb_array_length(p_claims) = 1 or clock_timestamp() > p_until then
        return query select (claim -> 'id')::bigint, 'busy' from jsonb_array_elements(p_claims) as claim;
    else
        return query
        select apart.task_id, apart.reason
        from rolecall.halves(p_claims) as half
        cross join lateral rolecall.release_apart(p_worker_id, half, p_until) as apart;
    end if;
end
$$;
