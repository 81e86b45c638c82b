-- Lets go of those expired claims that can be let go of at once: all of them, else the halves each for itself; what is kept waiting is
-- left to the next rescue.
-- returns: one row a rescued task, with the state it went to
-- raises: nothing
-- locks: as try_to_rescue, waiting a moment only
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.rescue_apart(p_expired jsonb, p_until timestamptz)
returns table (task_id bigint, state rolecall.task_state)
language plpgsql
volatile
set search_path = ''
set lock_timeout = '10ms'
as $$
begin
    begin
        return query select * from rolecall.try_to_rescue(p_expired);
        return;
    exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
        null;
    end;
    if jsonb_array_length(p_expired) > 1 and clock_timestamp() < p_until and not rolecall.have_one_parent(p_expired) then
        return query
        select apart.task_id, apart.state
        from rolecall.halves(p_expired) as half
        cross join lateral rolecall.rescue_apart(half, p_until) as apart;
    end if;
end
$$;
