-- Takes a worker off the roll and gives back what it still holds.
-- returns: how many tasks it held
-- raises: nothing
-- locks: the workers row; tasks rows in id order; keys rows in key order
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.deregister_worker(p_worker_id bigint)
returns int
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_losses jsonb;
begin
    perform rolecall.require_durability();
    update rolecall.workers
    set stopped_at = rolecall.clock(), idle = false, held = 0
    where id = p_worker_id and stopped_at is null;
    with held as (
        select id from rolecall.tasks where worker_id = p_worker_id and state = 'running' order by id for update
    )
    select jsonb_agg(jsonb_build_object('id', id, 'reason', 'shutdown')) into v_losses from held;
    return (select count(*) from rolecall.let_go(v_losses));
end
$$;
