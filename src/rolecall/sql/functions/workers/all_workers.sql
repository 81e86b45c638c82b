-- The worker registry for readers: whether a worker is active, its status, and the tasks that it runs.
-- returns: one row per worker
-- public: yes
create or replace view rolecall.all_workers with (security_invoker = true) as
select
    worker.id, worker.name, worker.roles, worker.handlers, worker.slots, worker.held, roll.idle, roll.active,
    case
        when worker.is_dead then 'dead'
        when worker.stopped_at is not null then 'stopped'
        when not roll.active then 'silent'
        when worker.command = 'decommission' then 'leaving'
        when worker.command = 'drain' then case
            when worker.following is not null and running.ids = '{}' then 'drained'
            else 'draining'
        end
        when worker.backing_off is not null then 'backing off'
        when roll.idle then 'idle'
        else 'busy'
    end as state,
    worker.host, worker.pid, worker.version, worker.release, worker.pod, worker.node, worker.started_at,
    worker.heartbeat_at, worker.stopped_at, worker.cpu, worker.memory, worker.memory_bytes,
    worker.clock_ahead, worker.backing_off, worker.command, worker.commanded_at, worker.following,
    running.ids as running_tasks
from rolecall.workers as worker
cross join lateral (
    select
        rolecall.is_active(worker, rolecall.clock()) as active,
        exists (
            select
            from rolecall.idle_marks as mark
            where mark.worker_id = worker.id and mark.until > rolecall.clock()
        ) as idle
) as roll
cross join lateral (
    select array(
        select task.id from rolecall.tasks as task
        where task.worker_id = worker.id and task.state = 'running' and task.started_at is not null
        order by task.id
    ) as ids
) as running;
