-- Reports for each role (or for one) the waiting tasks, the workers, their rate, and how long the waiting
-- tasks will take at that rate. If tasks have waited for a minute, the rate is what the workers ended since
-- then: measured_seconds says for how long, at most ten minutes, and not before the last worker started.
-- Otherwise it is computed from the slot time of a task within the last hour, and the slots that a worker
-- has for the role: those that it used for the role within the last ten minutes, and a part of its idle
-- slots, which it shares with the other roles that have tasks.
-- returns: one row per role; rates are null if nothing finished a run within the last hour
-- public: yes
create or replace function rolecall.capacity(p_role text default null)
returns table (
    role text, pending_tasks bigint, ready_tasks bigint, running_tasks bigint, active_workers bigint,
    claimed_last_hour bigint, completed_last_hour bigint, failed_last_hour bigint,
    tasks_per_worker_hour float8, estimated_hours_to_drain float8,
    arrived_last_hour bigint, measured_runs bigint, oldest_waiting_seconds float8, paused boolean,
    measured_seconds float8
)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    with moment as materialized (
        select rolecall.clock() as now
    ),
    open as materialized (
        select load.* from moment cross join rolecall.open_load(moment.now) as load
    ),
    serving as materialized (
        select pair.* from moment cross join rolecall.serving_workers(moment.now) as pair
    ),
    -- Since when each role's workers have been the same and have always had due tasks.
    busy_since as materialized (
        select open.role,
            greatest(open.waiting_since, max(serving.started_at), moment.now - interval '10 min') as moment
        from open
        join serving on serving.role = open.role
        cross join moment
        group by open.role, open.waiting_since, moment.now
        having greatest(open.waiting_since, max(serving.started_at)) <= moment.now - interval '1 min'
    ),
    work as materialized (
        select recent.*
        from moment
        cross join rolecall.recent_work(
            p_role, moment.now, array(select busy_since.role from busy_since),
            array(select busy_since.moment from busy_since)
        ) as recent
    ),
    used as materialized (
        select each.worker_id, each.role, sum(each.seconds) as seconds, min(each.since) as since
        from (
            select work.worker_id, work.role, work.used_seconds, work.used_since from work
            union all
            select held.worker_id, held.role, held.seconds, held.since
            from moment cross join rolecall.slots_in_use(moment.now) as held
        ) as each (worker_id, role, seconds, since)
        where each.seconds > 0
        group by each.worker_id, each.role
    ),
    -- For each worker the slot time that it used, and all that it had in the same time. Tasks that one call
    -- ran together count several times, so it may seem to have used more than it had.
    observed as (
        select sums.worker_id, sums.roles, sums.seconds, greatest(
            sums.seconds, worker.slots * extract(epoch from moment.now - sums.since)::float8
        ) as available
        from (
            select used.worker_id, count(*) as roles, sum(used.seconds) as seconds, min(used.since) as since
            from used
            group by used.worker_id
        ) as sums
        join rolecall.workers as worker on worker.id = sums.worker_id
        cross join moment
    ),
    -- How many roles with tasks each worker serves.
    backlogs as (
        select serving.worker_id, count(*) as roles
        from serving
        join open on open.role = serving.role and open.ready > 0
        group by serving.worker_id
    ),
    shares as (
        select serving.role, serving.slots * greatest(
            coalesce(used.seconds / observed.available, 0)
                + (1 - coalesce(observed.seconds / observed.available, 0)) / (
                    coalesce(backlogs.roles, 0) + case when open.ready > 0 then 0 else 1 end
                ),
            -- A role whose tasks did not run recently gets a part of a full worker as well.
            case when used.role is null then 1.0 / (1 + coalesce(observed.roles, 0)) else 0 end
        ) as slots
        from serving
        left join open on open.role = serving.role
        left join backlogs on backlogs.worker_id = serving.worker_id
        left join observed on observed.worker_id = serving.worker_id
        left join used on used.worker_id = serving.worker_id and used.role = serving.role
        where p_role is null or serving.role = p_role
    ),
    slots_for as (
        select shares.role, count(*) as workers, avg(shares.slots)::float8 as slots
        from shares
        group by shares.role
    ),
    done as (
        select work.role, sum(work.claimed)::bigint as claimed, sum(work.completed)::bigint as completed,
            sum(work.failed)::bigint as failed, sum(work.arrived)::bigint as arrived,
            sum(work.runs)::bigint as runs, sum(work.slot_seconds) as slot_seconds,
            sum(work.slots * work.runs) / nullif(sum(work.runs), 0) as slots,
            sum(work.ended_since_busy) as ended_since_busy
        from work
        group by work.role
    ),
    figures as (
        select
            role.name, coalesce(open.pending, 0) as pending, coalesce(open.ready, 0) as ready,
            coalesce(open.running, 0) as running, coalesce(slots_for.workers, 0) as workers,
            coalesce(open.claimed, 0) + coalesce(done.claimed, 0) as claimed,
            coalesce(done.completed, 0) as completed, coalesce(done.failed, 0) as failed,
            done.runs * 3600 / nullif(done.slot_seconds, 0) * coalesce(slots_for.slots, done.slots, 1)
                as possible,
            coalesce(open.arrived, 0) + coalesce(done.arrived, 0) as arrived, coalesce(done.runs, 0) as runs,
            extract(epoch from moment.now - open.waiting_since)::float8 as waited,
            role.paused_at is not null and (role.paused_until <= moment.now) is not true as paused,
            extract(epoch from moment.now - busy_since.moment)::float8 as seconds, done.ended_since_busy
        from rolecall.roles as role
        cross join moment
        left join open on open.role = role.name
        left join done on done.role = role.name
        left join slots_for on slots_for.role = role.name
        left join busy_since on busy_since.role = role.name and done.ended_since_busy > 0
        where p_role is null or role.name = p_role
    ),
    rates as (
        select figures.*, coalesce(ended_since_busy * 3600 / (seconds * workers), possible) as rate
        from figures
    )
    select
        name, pending, ready, running, workers, claimed, completed, failed, rate,
        pending / nullif(rate * workers, 0), arrived, runs, waited, paused, seconds
    from rates
    order by name
$$;

-- Lists the active workers of each role. Workers that were commanded to drain, or that have none of the
-- role's handlers, are omitted.
create or replace function rolecall.serving_workers(p_now timestamptz)
returns table (role text, worker_id bigint, slots int, started_at timestamptz)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    -- Many workers have the same handlers, which are compared with the roles once.
    with kinds as materialized (
        select worker.roles, worker.handlers, array_agg(worker.id) as ids, array_agg(worker.slots) as slots,
            array_agg(worker.started_at) as starts
        from rolecall.workers as worker
        where rolecall.is_active(worker, p_now) and worker.command is null
        group by worker.roles, worker.handlers
    )
    select role.name, worker.id, worker.slots, worker.started_at
    from rolecall.roles as role
    join kinds on (kinds.roles = '{}' or role.name = any(kinds.roles))
        and (role.name = any(kinds.handlers) or exists (
            select from rolecall.handlers as handler
            where handler.role = role.name and handler.name = any(kinds.handlers)
        ))
    cross join lateral unnest(kinds.ids, kinds.slots, kinds.starts) as worker (id, slots, started_at)
$$;

-- Returns the slot time that running tasks have used within the last ten minutes, and since when.
create or replace function rolecall.slots_in_use(p_now timestamptz)
returns table (role text, worker_id bigint, seconds float8, since timestamptz)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select line.role, task.worker_id,
        sum(extract(epoch from p_now - greatest(task.started_at, p_now - interval '10 min')))::float8,
        min(greatest(task.started_at, p_now - interval '10 min'))
    from rolecall.tasks as task
    join rolecall.lines as line on line.id = task.line_id
    where task.state = 'running' and task.started_at is not null
    group by line.role, task.worker_id
$$;

-- Aggregates the open tasks of each role: waiting, due and running ones, since when the oldest
-- has waited, and how many were claimed or created within the last hour.
-- returns: one row per role that has open tasks
create or replace function rolecall.open_load(p_now timestamptz)
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
    group by line.role
$$;

-- Aggregates the tasks that finished within the last hour, and their cost: `slot_seconds` is the slot time
-- of `runs` handler runs. Tasks that one handler call ran together share its time: a worker cannot spend
-- more of it in a minute than its slots have. Earlier failed attempts of a task are assumed to have cost the
-- same. `used_seconds` is the slot time within the last ten minutes, which began at `used_since`;
-- `ended_since_busy` counts the runs that ended since the given moment of their role. If a role is given,
-- the figures of other roles cover ten minutes only.
-- returns: one row per role and worker (null: finished without a run) of which a task finished
create or replace function rolecall.recent_work(
    p_role text, p_now timestamptz, p_busy text[], p_since timestamptz[]
)
returns table (
    role text, worker_id bigint, claimed bigint, completed bigint, failed bigint, arrived bigint, runs bigint,
    slot_seconds float8, slots int, used_seconds float8, used_since timestamptz, ended_since_busy bigint
)
language sql
stable
set search_path = pg_catalog, pg_temp
-- Rows of a day are stored in the order in which they finished, so a BRIN index is sufficient.
set jit = off
set enable_seqscan = off
as $$
    with lines as materialized (
        select line.id, line.role, p_since[array_position(p_busy, line.role)] as since
        from rolecall.lines as line
    ),
    -- Each row is read once: an hour may have a million.
    ended as (
        select lines.role, task.worker_id, date_bin('1 min', task.finished_at, 'epoch') as minute,
            count(*) filter (where task.claimed_at > p_now - interval '1 hour') as claimed,
            count(*) filter (where task.state = 'completed') as completed,
            count(*) filter (where task.state = 'failed') as failed,
            count(*) filter (where task.created_at > p_now - interval '1 hour') as arrived,
            count(ran.started_at) as runs,
            sum(greatest(task.attempt, 1)) filter (where ran.started_at is not null) as attempts,
            sum(task.finished_at - ran.started_at) as took,
            min(ran.started_at) as first_start,
            max(task.finished_at) filter (where ran.started_at is not null) as last_end,
            sum(task.finished_at - greatest(ran.started_at, recent.moment)) filter (
                where task.finished_at > recent.moment
            ) as used,
            min(greatest(ran.started_at, recent.moment)) filter (
                where task.finished_at > recent.moment
            ) as used_since,
            count(ran.started_at) filter (where task.finished_at > lines.since) as ended_since_busy
        from rolecall.finished_tasks as task
        join lines on lines.id = task.line_id
        -- A parent that finished with its last child has no claim of its own, and waited for most of its
        -- time.
        cross join lateral (
            select case when task.claimed_at is not null then task.started_at end as started_at
        ) as ran
        cross join (select p_now - interval '10 min' as moment) as recent
        where task.finished_at > p_now - interval '1 hour' and task.finished_at < p_now + interval '1 hour'
            and (p_role is null or lines.role = p_role or task.finished_at > recent.moment)
        group by 1, 2, 3
    )
    select ended.role, ended.worker_id, sum(ended.claimed)::bigint, sum(ended.completed)::bigint,
        sum(ended.failed)::bigint, sum(ended.arrived)::bigint,
        case when ended.worker_id is null then 0 else sum(ended.runs)::bigint end,
        case when ended.worker_id is not null then sum(
            least(
                extract(epoch from ended.took),
                coalesce(worker.slots, 1) * extract(epoch from ended.last_end - ended.first_start)
            ) * ended.attempts / nullif(ended.runs, 0)
        )::float8 end,
        coalesce(worker.slots, 1), extract(epoch from sum(ended.used))::float8, min(ended.used_since),
        sum(ended.ended_since_busy)::bigint
    from ended
    left join rolecall.workers as worker on worker.id = ended.worker_id
    group by ended.role, ended.worker_id, worker.slots
$$;
