-- Says that a worker waits for work and wants to be notified, or no longer does.
-- returns: nothing
-- raises: nothing
-- locks: the workers row
-- notifies: nothing
create or replace function rolecall.mark_idle(p_worker_id bigint, p_idle boolean)
returns void
language sql
volatile
set search_path = ''
as $$
    update rolecall.workers
    set idle = p_idle
    where id = p_worker_id and stopped_at is null and idle <> p_idle
$$;
