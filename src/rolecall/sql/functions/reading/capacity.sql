-- Reports for each role (or for one) the waiting tasks, the workers, their rate, and how long the waiting
-- tasks will take at that rate. The rate is that of a worker that does nothing else: its slots, divided by
-- the slot time of a task within the last hour.
-- returns: one row per role; rates are null if nothing finished a run within the last hour
-- public: yes
create or replace function rolecall.capacity(p_role text default null)
returns table (
    role text, pending_tasks bigint, ready_tasks bigint, running_tasks bigint, active_workers bigint,
    claimed_last_hour bigint, completed_last_hour bigint, failed_last_hour bigint,
    tasks_per_worker_hour float8, estimated_hours_to_drain float8,
    arrived_last_hour bigint, measured_runs bigint, oldest_waiting_seconds float8, paused boolean
)
language sql
stable
set search_path = pg_catalog, pg_temp
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
            -- Workers that were commanded to drain, or that have none of the role's handlers, do not count.
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

-- Aggregates the open tasks of each role (or of one): waiting, due and running ones, since when the oldest
-- has waited, and how many were claimed or created within the last hour.
-- returns: one row per role that has open tasks
create or replace function rolecall.open_load(p_role text, p_now timestamptz)
returns table (
    role text, pending bigint, ready bigint, running bigint, claimed bigint, arrived bigint,
    waiting_since timestamptz
)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select
        line.role,
        count(*) filter (where shown.state = 'pending'),
        count(*) filter (where shown.state = 'pending' and not parked and scheduled_for <= p_now),
        count(*) filter (where shown.state = 'running'),
        count(*) filter (where claimed_at > p_now - interval '1 hour'),
        count(*) filter (where created_at > p_now - interval '1 hour'),
        min(greatest(created_at, scheduled_for)) filter (
            where shown.state = 'pending' and scheduled_for <= p_now
        )
    from rolecall.tasks as task
    cross join lateral (
        select rolecall.shown_state(task.state, key_slot, started_at) as state
    ) as shown
    join rolecall.lines as line on line.id = line_id
    where p_role is null or line.role = p_role
    group by line.role
$$;

-- Aggregates the tasks of each role (or of one) that finished within the last hour, and their cost:
-- `slot_seconds` is the slot time of `runs` handler runs. Tasks that one handler call ran together share
-- its time: a worker cannot spend more of it in a minute than its slots have. Earlier failed attempts of a
-- task are assumed to have cost the same.
-- returns: one row per role of which a task finished; `slots` is the average number of slots of the workers
-- that ran them
create or replace function rolecall.recent_work(p_role text, p_now timestamptz)
returns table (
    role text, claimed bigint, completed bigint, failed bigint, arrived bigint, runs bigint,
    slot_seconds float8, slots float8
)
language sql
stable
set search_path = pg_catalog, pg_temp
-- Rows of a day are stored in the order in which they finished, so a BRIN index is sufficient.
set jit = off
set enable_seqscan = off
as $$
    -- Each row is read once: an hour may have a million.
    with ended as (
        select task.line_id, task.worker_id, date_bin('1 min', task.finished_at, 'epoch') as minute,
            count(*) filter (where task.claimed_at > p_now - interval '1 hour') as claimed,
            count(*) filter (where task.state = 'completed') as completed,
            count(*) filter (where task.state = 'failed') as failed,
            count(*) filter (where task.created_at > p_now - interval '1 hour') as arrived,
            -- A parent that finished with its last child has no claim of its own, and waited for most of
            -- its time.
            count(task.started_at) filter (where task.claimed_at is not null) as runs,
            sum(greatest(task.attempt, 1)) filter (
                where task.claimed_at is not null and task.started_at is not null
            ) as attempts,
            sum(task.finished_at - task.started_at) filter (where task.claimed_at is not null) as took,
            min(task.started_at) filter (where task.claimed_at is not null) as first_start,
            max(task.finished_at) filter (
                where task.claimed_at is not null and task.started_at is not null
            ) as last_end
        from rolecall.finished_tasks as task
        where task.finished_at > p_now - interval '1 hour' and task.finished_at < p_now + interval '1 hour'
            and (
                p_role is null or task.line_id = any(
                    array(select line.id from rolecall.lines as line where line.role = p_role)
                )
            )
        group by 1, 2, 3
    ),
    minutes as (
        select line.role, coalesce(max(worker.slots), 1) as slots, ended.worker_id is not null as measured,
            sum(ended.claimed) as claimed, sum(ended.completed) as completed, sum(ended.failed) as failed,
            sum(ended.arrived) as arrived, sum(ended.runs) as runs,
            sum(ended.attempts) / nullif(sum(ended.runs), 0) as attempts,
            extract(epoch from sum(ended.took)) as seconds,
            extract(epoch from max(ended.last_end) - min(ended.first_start)) as span
        from ended
        join rolecall.lines as line on line.id = ended.line_id
        left join rolecall.workers as worker on worker.id = ended.worker_id
        group by line.role, ended.worker_id, ended.minute
    )
    select minutes.role, sum(claimed)::bigint, sum(completed)::bigint, sum(failed)::bigint,
        sum(arrived)::bigint,
        coalesce(sum(runs) filter (where measured), 0)::bigint,
        (sum(least(seconds, minutes.slots * span) * attempts) filter (where measured))::float8,
        (
            sum(minutes.slots * runs) filter (where measured) / nullif(sum(runs) filter (where measured), 0)
        )::float8
    from minutes
    group by minutes.role
$$;
