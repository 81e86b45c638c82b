-- Claims the next task of a drain: of any SQL handler, also one that was declared a moment ago.
-- returns: the claim; no row when nothing is left that may run now, or when this worker was told to take no more
-- raises: RC050 wrong isolation level
-- locks: as claim does; the workers row
-- notifies: nothing
create or replace function rolecall.claim_for_drain(p_worker_id bigint, p_role text)
returns table (id bigint, fence int)
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_roles text[] := array_remove(array[p_role], null);
    v_handlers text[] := array(select name from rolecall.procedures);
    v_turn int;
begin
    if exists (select from rolecall.workers where workers.id = p_worker_id and workers.command is not null) then
        return;
    end if;
    for v_turn in 1..2 loop
        return query
        select claimed.id, claimed.fence from rolecall.claim(p_worker_id, v_roles, v_handlers, 1) as claimed;
        exit when found;
        -- A drain may end only when there is nothing below the session's floors either: a parent that goes on, for one.
        perform set_config('rolecall.floor_' || line.id, '', false) from rolecall.lines as line;
    end loop;
    update rolecall.workers as worker
    set heartbeat_at = rolecall.clock()
    where worker.id = p_worker_id and worker.heartbeat_at < rolecall.clock() - interval '10 s';
end
$$;
