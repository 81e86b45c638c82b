-- Says that a worker lives.
-- returns: false when the roll does not know it (any more): it must register again
-- raises: nothing
-- locks: the workers row
-- notifies: nothing
create or replace function rolecall.beat(p_worker_id bigint, p_held int, p_idle boolean)
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
begin
    update rolecall.workers
    set heartbeat_at = rolecall.clock(), held = p_held, idle = p_idle
    where id = p_worker_id and stopped_at is null;
    return found;
end
$$;
