-- Lets go of tasks whose lease ran out, or of those among them that nobody has renewed for p_silent_for. After a restart or a failover of
-- the server it waits one lease, so that the workers that live can renew. What somebody's open transaction keeps from it is left to the
-- next rescue. Pending tasks that have fitted no worker for an hour fail. Sessions that still hang in a task which they lost, or whose worker is gone, are ended.
-- returns: one row a rescued task, with the state it went to
-- raises: RC050 wrong isolation level
-- locks: tasks rows, skipping locked ones; keys rows in key order
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.rescue(p_limit int default 1000, p_silent_for interval default '0 s')
returns table (task_id bigint, state rolecall.task_state)
language plpgsql
volatile
set search_path = ''
set lock_timeout = '100ms'
as $$
declare
    v_expired jsonb;
begin
    perform rolecall.require_read_committed();
    select jsonb_agg(lost) into v_expired
    from (
        select * from rolecall.expired_claims(p_limit, p_silent_for)
        union all
        select * from rolecall.unfitting_tasks(p_limit)
    ) as found (lost);
    if v_expired is null then
        perform rolecall.end_sessions('{}');
        return;
    end if;
    perform rolecall.require_durability();
    begin
        return query select * from rolecall.try_to_rescue(v_expired);
        return;
    exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
        -- Somebody has something that one of them needs: now each for itself.
        null;
    end;
    return query
    select apart.task_id, apart.state
    from rolecall.rescue_apart(rolecall.children_together(v_expired), clock_timestamp() + interval '1 s') as apart;
end
$$;
