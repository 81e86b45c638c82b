-- Records a worker's heartbeat and condition: p_condition may contain cpu and memory (fractions of its
-- limits), memory_bytes, clock (its own, in seconds since 1970), backing_off (why it takes no new tasks
-- for now) and following (the command that it has received). Omitted values become unknown.
-- returns: one row: whether the worker is registered (if not, it must register again), and its command
-- locks: the workers row; the worker's idle marks
-- public: yes
create or replace function rolecall.beat(
    p_worker_id bigint, p_held int, p_idle boolean, p_condition jsonb default '{}'
)
returns table (known boolean, command text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    perform rolecall.require_own_worker(p_worker_id);
    update rolecall.workers as worker
    set heartbeat_at = rolecall.clock(), held = p_held,
        cpu = (p_condition ->> 'cpu')::float8,
        memory = (p_condition ->> 'memory')::float8,
        memory_bytes = (p_condition ->> 'memory_bytes')::bigint,
        backing_off = p_condition ->> 'backing_off',
        following = p_condition ->> 'following',
        -- The server's real clock: a worker's clock cannot be compared with that of a test.
        clock_ahead = (p_condition ->> 'clock')::float8 - extract(epoch from clock_timestamp())::float8
    where worker.id = p_worker_id and worker.stopped_at is null
    returning true, worker.command into known, command;
    known := coalesce(known, false);
    perform rolecall.set_idle_mark(p_worker_id, p_idle and known);
    return next;
end
$$;
