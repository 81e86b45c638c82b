-- Takes a worker off the roll as deregister_worker does, unless something was waited for too long, or came meanwhile.
-- returns: how many tasks it held
-- raises: 55P03, RC090 undo this and try again
-- locks: the workers row; tasks rows in id order; keys rows in key order
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.try_to_deregister(p_worker_id bigint)
returns int
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_losses jsonb;
    v_let_go record;
begin
    update rolecall.workers
    set stopped_at = rolecall.clock(), idle = false, held = 0
    where id = p_worker_id and stopped_at is null;
    with held as (
        select id from rolecall.tasks where worker_id = p_worker_id and state = 'running' order by id for update
    )
    select jsonb_agg(jsonb_build_object('id', id, 'reason', 'shutdown')) into v_losses from held;
    select * into v_let_go from rolecall.let_go(v_losses);
    perform rolecall.conclude(v_let_go.endings, v_let_go.keys);
    return coalesce(cardinality(v_let_go.ids), 0);
end
$$;
