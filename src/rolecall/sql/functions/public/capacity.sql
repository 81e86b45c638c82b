-- Says for each role (or for one) what waits, who works, at which rate, and how long what waits will take at that rate. The rate is
-- that of one worker that does nothing else: its slots, over the time of a slot that a task took within the last hour.
-- returns: one row a role; rates are null where nothing ran to its end within the last hour
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.capacity(p_role text default null)
returns table (
    role text, pending_tasks bigint, ready_tasks bigint, running_tasks bigint, active_workers bigint,
    claimed_last_hour bigint, completed_last_hour bigint, failed_last_hour bigint,
    tasks_per_worker_hour float8, estimated_hours_to_drain float8,
    arrived_last_hour bigint, measured_runs bigint, oldest_waiting_seconds float8, paused boolean
)
language sql
stable
set search_path = ''
as $$
    with moment as materialized (
        select rolecall.clock() as now
    ),
    active as (
        select role.name as role, count(*) as workers, avg(worker.slots)::float8 as slots
        from rolecall.roles as role
        join rolecall.workers as worker on worker.roles = '{}' or role.name = any(worker.roles)
        cross join moment
        where worker.stopped_at is null and worker.heartbeat_at > moment.now - interval '5 min'
            -- Who was told to take no more does not count, nor who has none of its handlers.
            and worker.command is null
            and (role.name = any(worker.handlers) or exists (
                select from rolecall.handlers as handler
                where handler.role = role.name and handler.name = any(worker.handlers)
            ))
        group by role.name
    ),
    figures as (
        select
            role.name, coalesce(open.pending, 0) as pending, coalesce(open.ready, 0) as ready,
            coalesce(open.running, 0) as running, coalesce(active.workers, 0) as workers,
            coalesce(open.claimed, 0) + coalesce(work.claimed, 0) as claimed,
            coalesce(work.completed, 0) as completed, coalesce(work.failed, 0) as failed,
            work.runs * 3600 / nullif(work.slot_seconds, 0) * coalesce(active.slots, work.slots, 1) as rate,
            coalesce(open.arrived, 0) + coalesce(work.arrived, 0) as arrived, coalesce(work.runs, 0) as runs,
            extract(epoch from moment.now - open.waiting_since)::float8 as waited,
            role.paused_at is not null and (role.paused_until <= moment.now) is not true as paused
        from rolecall.roles as role
        cross join moment
        left join rolecall.open_load(p_role, moment.now) as open on open.role = role.name
        left join rolecall.recent_work(p_role, moment.now) as work on work.role = role.name
        left join active on active.role = role.name
        where p_role is null or role.name = p_role
    )
    select
        name, pending, ready, running, workers, claimed, completed, failed, rate,
        pending / nullif(rate * workers, 0), arrived, runs, waited, paused
    from figures
    order by name
$$;
