-- Says for each role what waits, who works, at which rate, and how long the rest will take at that rate.
-- returns: one row a role
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.capacity()
returns table (
    role text, pending_tasks bigint, ready_tasks bigint, running_tasks bigint, active_workers bigint,
    claimed_last_hour bigint, completed_last_hour bigint, failed_last_hour bigint,
    tasks_per_worker_hour float8, estimated_hours_to_drain float8
)
language sql
stable
set search_path = ''
as $$
    with moment as materialized (
        select rolecall.clock() as now
    ),
    open as (
        select
            line.role,
            count(*) filter (where state = 'pending') as pending,
            count(*) filter (where state = 'pending' and not parked and scheduled_for <= moment.now) as ready,
            count(*) filter (where state = 'running') as running,
            count(*) filter (where claimed_at > moment.now - interval '1 hour') as claimed
        from rolecall.tasks
        join rolecall.lines as line on line.id = line_id
        cross join moment
        group by line.role
    ),
    ended as (
        select
            line.role,
            count(*) filter (where claimed_at > moment.now - interval '1 hour') as claimed,
            count(*) filter (where state = 'completed') as completed,
            count(*) filter (where state = 'failed') as failed,
            extract(epoch from sum(finished_at - started_at))::float8 / 3600 as hours_worked
        from rolecall.finished_tasks
        join rolecall.lines as line on line.id = line_id
        cross join moment
        where finished_at > moment.now - interval '1 hour'
        group by line.role
    ),
    active as (
        select role.name as role, count(*) as workers, sum(worker.slots) as slots
        from rolecall.roles as role
        join rolecall.workers as worker on worker.roles = '{}' or role.name = any(worker.roles)
        cross join moment
        where worker.stopped_at is null and worker.heartbeat_at > moment.now - interval '5 min'
        group by role.name
    ),
    figures as (
        select
            role.name, coalesce(open.pending, 0) as pending, coalesce(open.ready, 0) as ready,
            coalesce(open.running, 0) as running, coalesce(active.workers, 0) as workers,
            coalesce(open.claimed, 0) + coalesce(ended.claimed, 0) as claimed,
            coalesce(ended.completed, 0) as completed, coalesce(ended.failed, 0) as failed,
            (ended.completed + ended.failed) / nullif(ended.hours_worked, 0)
                * (coalesce(active.slots, 1)::float8 / coalesce(active.workers, 1)) as rate
        from rolecall.roles as role
        left join open on open.role = role.name
        left join ended on ended.role = role.name
        left join active on active.role = role.name
    )
    select
        name, pending, ready, running, workers, claimed, completed, failed, rate,
        pending / nullif(rate * workers, 0)
    from figures
    order by name
$$;
