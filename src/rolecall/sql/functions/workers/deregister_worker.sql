-- Deregisters a worker and returns the tasks that it still holds. Tasks that an open transaction has locked
-- are left to their lease.
-- returns: how many tasks it held
-- raises: RC050 wrong isolation level
-- locks: the workers row; tasks rows in id order; keys rows in key order
-- notifies: rolecall_wake, if an idle worker waits for the role
-- public: yes
create or replace function rolecall.deregister_worker(p_worker_id bigint)
returns int
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
    v_held jsonb;
begin
    perform rolecall.require_read_committed();
    perform rolecall.require_own_worker(p_worker_id);
    perform rolecall.require_durability();
    update rolecall.workers
    set stopped_at = rolecall.clock(), held = 0
    where id = p_worker_id and stopped_at is null;
    perform rolecall.set_idle_mark(p_worker_id, false);
    select jsonb_agg(jsonb_build_object('id', task.id, 'fence', task.fence)) into v_held
    from rolecall.tasks as task
    where task.worker_id = p_worker_id and task.state = 'running';
    perform rolecall.release_claims(p_worker_id, v_held);
    return coalesce(jsonb_array_length(v_held), 0);
end
$$;
