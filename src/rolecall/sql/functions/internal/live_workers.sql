-- Lists the active workers of a role as a claim of theirs would find them; `able` has the handler too.
-- returns: one row a worker, with the tasks that it holds, started or not, and why it takes no new ones
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.live_workers(p_role text, p_handler text, p_now timestamptz)
returns table (id bigint, able boolean, slots int, holds bigint, command text, backing_off text)
language sql
stable
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
    select worker.id, p_handler = any(worker.handlers), worker.slots, held.number, worker.command, worker.backing_off
    from rolecall.workers as worker
    cross join lateral (
        select count(*) as number from rolecall.tasks as task where task.worker_id = worker.id and task.state = 'running'
    ) as held
    where worker.stopped_at is null and worker.heartbeat_at > p_now - interval '5 min'
        and (worker.roles = '{}' or p_role = any(worker.roles))
    order by worker.id
$$;
