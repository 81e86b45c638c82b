-- Returns the derived status of an open task.
-- returns: the state, or a more specific status: parked, scheduled, retrying, ready, stale, claimed
-- search_path: not set, so that it is inlined into the calling statement
create or replace function rolecall.status_of(
    p_state rolecall.task_state, p_parked boolean, p_scheduled_for timestamptz, p_attempt int,
    p_lease_until timestamptz, p_started_at timestamptz
)
returns text
language sql
volatile
as $$
    select case
        when p_state = 'pending' and p_parked then 'parked'
        when p_state = 'pending' and p_scheduled_for > rolecall.clock()
            then case when p_attempt > 0 then 'retrying' else 'scheduled' end
        when p_state = 'pending' then 'ready'
        when p_state = 'running' and p_lease_until < rolecall.clock() then 'stale'
        when p_state = 'running' and p_started_at is null then 'claimed'
        else p_state::pg_catalog.text
    end
$$;
