-- Finds the current problems of the pool, grouped by cause. A role whose tasks wait is part of one problem
-- only: if it has no worker, hangs or fails, that explains why they wait. Finished tasks are not read, except
-- the newest failed ones if too many fail. Kinds:
--   no_worker        no active worker serves the roles
--   no_handler       active workers serve the roles, but none has the handlers
--   hanging          tasks run much longer than usual; figures: usual_seconds of the oldest one's handler,
--                    the number of workers that run nothing else, and of due tasks that wait behind
--   failing          too many tasks of the handlers fail with the same kind of error
--   dead_workers     workers ended without deregistering
--   silent_workers   workers send no heartbeat
--   growing          due tasks have become more for ten minutes
--   waiting          the oldest due tasks wait longer than usual, or five minutes in a new role; without any
--                    running task, one minute
--   backing_off      workers claim no tasks for now
--   paused           tasks wait for paused roles
--   stalled_history  nothing has been added to the history, so other problems may be hidden
-- returns: one row per problem: the number of its tasks or workers, and since when; other figures by name
-- public: yes
create or replace function rolecall.problems()
returns table (
    kind text, roles text[], handlers text[], workers bigint[], number bigint, since timestamptz,
    figures jsonb
)
language sql
stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set jit = off
as $$
    with moment as materialized (
        select rolecall.clock() as now
    ),
    active as materialized (
        select count(*) as number
        from rolecall.workers as worker
        cross join moment
        where rolecall.is_active(worker, moment.now)
    ),
    hanging as materialized (
        select task.* from rolecall.hanging_tasks() as task
    ),
    -- Workers that run nothing but hanging tasks.
    stuck as materialized (
        select worker.id
        from rolecall.workers as worker
        join (select hanging.worker_id, count(*) as number from hanging group by 1) as held
            on held.worker_id = worker.id and held.number >= worker.slots
    ),
    failing as materialized (
        select handler.* from moment cross join rolecall.failing_handlers(moment.now) as handler
    ),
    line as materialized (
        select waits.*, case
            when waits.is_paused then 'paused'
            when waits.serving = 0 then 'no_worker'
            when waits.able = 0 then 'no_handler'
            when waits.free = 0 or waits.role in (select hanging.role from hanging) then 'hanging'
            when waits.role in (select failing.role from failing) then 'failing'
            when waits.since <= moment.now - interval '1 min' then 'load'
        end as cause
        from moment
        cross join rolecall.waiting_lines(array(select stuck.id from stuck), moment.now) as waits
    ),
    slow as materialized (
        select line.role, min(line.since) as since, sum(line.due) as due,
            extract(epoch from moment.now - min(line.since)) as seconds
        from line
        cross join moment
        where line.cause = 'load'
        group by line.role, moment.now
    ),
    slow_roles as (
        select array_agg(slow.role) as roles, array_fill(null::text, array[count(*)::int]) as none from slow
    ),
    growing as materialized (
        select role.*
        from moment
        cross join slow_roles
        cross join rolecall.growing_roles(slow_roles.roles, moment.now) as role
    ),
    usual as materialized (
        select duration.*
        from moment
        cross join slow_roles
        cross join rolecall.usual_seconds(
            'wait', slow_roles.roles, slow_roles.none, moment.now - interval '3 days',
            moment.now - interval '1 hour'
        ) as duration
    ),
    running as materialized (
        select distinct line.role
        from rolecall.tasks as task
        join rolecall.lines as line on line.id = task.line_id
        where task.state = 'running'
    ),
    waiting as (
        select slow.*, case when usual.number >= 10 then usual.seconds end as usual_seconds, moves.moves
        from slow
        left join usual on usual.role = slow.role
        cross join lateral (
            select slow.role in (select running.role from running)
                or rolecall.has_ended_lately(slow.role) as moves
        ) as moves
        where slow.role not in (select growing.role from growing)
            and slow.seconds > case
                when usual.number >= 10 then greatest(60, 5 * usual.seconds)
                when moves.moves then 300
                else 60
            end
    ),
    lost as materialized (
        select worker.*
        from moment
        cross join rolecall.lost_workers(moment.now) as worker
        -- The problem no_worker includes workers that served its roles.
        where not exists (
            select from line
            where line.cause = 'no_worker' and (worker.roles = '{}' or line.role = any(worker.roles))
                and line.handler = any(worker.handlers)
        )
    )
    select line.cause, array_agg(distinct line.role order by line.role),
        case when line.cause = 'no_handler' then array_agg(distinct line.handler order by line.handler)
            else '{}' end,
        '{}'::bigint[], sum(line.due)::bigint, min(line.since),
        jsonb_build_object('active_workers', (select active.number from active))
    from line
    where line.cause in ('no_worker', 'no_handler')
    group by line.cause
    union all
    select 'hanging', array_agg(distinct hanging.role order by hanging.role),
        array_agg(distinct hanging.handler order by hanging.handler),
        array_agg(distinct hanging.worker_id order by hanging.worker_id), count(*), min(hanging.started_at),
        jsonb_build_object(
            'usual_seconds', (array_agg(hanging.usual_seconds order by hanging.started_at))[1],
            'stuck_workers', (select count(*) from stuck),
            'due', (select coalesce(sum(line.due), 0) from line where line.cause = 'hanging')
        )
    from hanging
    having count(*) > 0
    union all
    select 'failing', array_agg(distinct failing.role order by failing.role),
        array_agg(distinct failing.handler order by failing.handler), '{}', sum(failing.failed)::bigint,
        min(failing.since),
        jsonb_build_object(
            'ended', sum(failing.ended), 'error', failing.error, 'from', min(failing.from_time),
            'to', max(failing.to_time), 'usual_share', sum(failing.usual * failing.ended) / sum(failing.ended)
        )
    from failing
    group by failing.error
    union all
    select case when lost.is_dead then 'dead_workers' else 'silent_workers' end, '{}', '{}',
        array_agg(lost.id order by lost.id), count(*), min(lost.since),
        jsonb_build_object('names', jsonb_agg(lost.name order by lost.id))
    from lost
    group by lost.is_dead
    union all
    select 'growing', array_agg(growing.role order by growing.role), '{}', '{}', sum(slow.due)::bigint,
        min(growing.since), jsonb_build_object('before', sum(growing.before))
    from growing
    join slow on slow.role = growing.role
    having count(*) > 0
    union all
    select 'waiting', array_agg(waiting.role order by waiting.role), '{}', '{}', sum(waiting.due)::bigint,
        min(waiting.since), jsonb_build_object(
            'usual_seconds', max(waiting.usual_seconds), 'is_standstill', not bool_or(waiting.moves)
        )
    from waiting
    having count(*) > 0
    union all
    select 'backing_off', '{}', '{}', array_agg(worker.id order by worker.id), count(*), null,
        jsonb_build_object(
            'reason', min(worker.backing_off), 'names', jsonb_agg(worker.name order by worker.id)
        )
    from rolecall.workers as worker
    cross join moment
    where rolecall.is_active(worker, moment.now) and worker.command is null and worker.backing_off is not null
    having count(*) > 0
    union all
    select 'paused', array_agg(role.name order by role.name), '{}', '{}', sum(held.due)::bigint,
        min(role.paused_at), jsonb_build_object('by', min(role.paused_by), 'until', max(role.paused_until))
    from (
        select line.role, sum(line.due) as due from line where line.cause = 'paused' group by line.role
    ) as held
    join rolecall.roles as role on role.name = held.role
    having count(*) > 0
    union all
    select 'stalled_history', '{}', '{}', '{}', 0, history_until.moment, '{}'
    from rolecall.history_until
    cross join moment
    where isfinite(history_until.moment) and history_until.moment < moment.now - interval '2 min'
$$;

-- Returns whether tasks of a role have ended within the last minute of the history. If the history is older
-- than two minutes, this is unknown.
create or replace function rolecall.has_ended_lately(p_role text)
returns boolean
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select coalesce(sum(bin.completed + bin.failed), 0) > 0
    from rolecall.history_until as known
    join rolecall.history as bin
        on bin.role = p_role and bin.width = 10 and bin.at >= known.moment - interval '1 min'
            and bin.at < known.moment
    where known.moment > rolecall.clock() - interval '2 min'
$$;

-- Finds the lines whose first due task has waited for ten seconds or more, and the active workers that could
-- claim it.
-- returns: one row per line: since when the first task waits, how many are due, whether the role is paused,
-- and how many workers serve the role, have the handler too, and are not among p_stuck
create or replace function rolecall.waiting_lines(p_stuck bigint[], p_now timestamptz)
returns table (
    role text, handler text, since timestamptz, due bigint, is_paused boolean, serving bigint, able bigint,
    free bigint
)
language sql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
    with line as materialized (
        select setting.line_id, setting.role, setting.handler, first.since,
            setting.paused and (setting.paused_until <= p_now) is not true as is_paused
        from rolecall.line_settings as setting
        cross join lateral (
            select greatest(task.created_at, task.scheduled_for) as since
            from rolecall.tasks as task
            where task.line_id = setting.line_id and task.state = 'pending' and not task.parked
                and task.scheduled_for <= p_now
            order by task.scheduled_for, task.id
            limit 1
        ) as first
        where first.since <= p_now - interval '10 s'
    ),
    -- Many workers have the same roles and handlers, which are compared with those of the tasks once.
    kind as materialized (
        select worker.roles, worker.handlers, count(*) as number,
            count(*) filter (where worker.id <> all(p_stuck)) as free
        from rolecall.workers as worker
        where rolecall.is_active(worker, p_now) and worker.command is null
        group by worker.roles, worker.handlers
    ),
    claimant as materialized (
        select known.role, known.handler, coalesce(sum(kind.number), 0)::bigint as serving,
            coalesce(sum(kind.number) filter (where known.handler = any(kind.handlers)), 0)::bigint as able,
            coalesce(sum(kind.free) filter (where known.handler = any(kind.handlers)), 0)::bigint as free
        from (select distinct line.role, line.handler from line) as known
        left join kind on kind.roles = '{}' or known.role = any(kind.roles)
        group by known.role, known.handler
    )
    select line.role, line.handler, line.since, due.number, line.is_paused, claimant.serving, claimant.able,
        claimant.free
    from line
    join claimant using (role, handler)
    cross join lateral (
        select count(*) as number
        from rolecall.tasks as task
        where task.line_id = line.line_id and task.state = 'pending' and not task.parked
            and task.scheduled_for <= p_now
    ) as due
$$;

-- Finds the handlers of which too many tasks have failed permanently within the last ten minutes of the
-- history: five or more, and a share of 5 % (1 % of many), three times as much as on the day before, or
-- half of all. Handlers whose tasks have recovered since are left out.
-- returns: one row per role and handler: failed and ended tasks between two times, the share of failed ones
-- on the day before, since when no minute was free of failures, and the most frequent kind of error
create or replace function rolecall.failing_handlers(p_now timestamptz)
returns table (
    role text, handler text, failed bigint, ended bigint, usual float8, since timestamptz,
    from_time timestamptz, to_time timestamptz, error text
)
language sql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
    with span as materialized (
        select moment - interval '10 min' as since, moment as until
        from rolecall.history_until
        where moment > p_now - interval '2 min'
    ),
    candidate as materialized (
        select bin.role, bin.handler
        from span
        join rolecall.history as bin
            on bin.width = 10 and bin.failed > 0 and bin.at >= span.since and bin.at < span.until
        where bin.role <> ''
        group by bin.role, bin.handler
        having sum(bin.failed) >= 5
    ),
    recent as materialized (
        select candidate.role, candidate.handler, sum(bin.failed) as failed,
            sum(bin.completed + bin.failed) as ended
        from candidate
        cross join span
        join rolecall.history as bin
            on bin.role = candidate.role and bin.width = 10 and bin.at >= span.since
                and bin.at < span.until and bin.handler = candidate.handler
        group by candidate.role, candidate.handler, span.until
        having coalesce(sum(bin.failed) filter (where bin.at >= span.until - interval '2 min') > 0, true)
    ),
    before as materialized (
        select recent.role, recent.handler,
            coalesce(sum(bin.failed)::float8 / nullif(sum(bin.completed + bin.failed), 0), 0) as share
        from recent
        cross join span
        cross join rolecall.history_stretches(3600, span.since - interval '1 day', span.since) as stretch
        left join lateral (
            select * from rolecall.history as one
            where one.role = recent.role and one.width = stretch.width and one.at >= stretch.since
                and one.at < stretch.until and one.handler = recent.handler
            offset 0
        ) as bin on true
        group by recent.role, recent.handler
    ),
    failing as materialized (
        select recent.role, recent.handler, recent.failed, recent.ended, before.share
        from recent
        join before using (role, handler)
        where recent.failed::float8 / recent.ended
            > least(0.5, greatest(case when recent.failed < 100 then 0.05 else 0.01 end, 3 * before.share))
    ),
    sample as materialized (
        select task.line_id,
            left(split_part(split_part(task.error, E'\n', 1), ':', 1), 80) as error
        from rolecall.finished_tasks as task
        where task.state = 'failed' and task.finished_at >= (select span.since from span)
            and exists (select from failing)
        order by task.id desc
        limit 1000
    ),
    last_error as (
        select line.role, line.handler, mode() within group (order by sample.error) as error
        from sample
        join rolecall.lines as line on line.id = sample.line_id
        group by line.role, line.handler
    )
    select failing.role, failing.handler, failing.failed, failing.ended, failing.share,
        coalesce(streak.began, span.since), span.since, span.until, last_error.error
    from failing
    cross join span
    left join last_error using (role, handler)
    cross join lateral (
        select min(minute.at) filter (where minute.at > coalesce(minute.healthy_at, '-infinity')) as began
        from (
            select bin.at, bin.failed,
                max(bin.at) filter (where bin.completed > 0 and bin.failed = 0) over () as healthy_at
            from (
                select date_bin('1 min', one.at, 'epoch') as at, sum(one.failed) as failed,
                    sum(one.completed) as completed
                from rolecall.history as one
                where one.role = failing.role and one.width = 10 and one.handler = failing.handler
                    and one.at >= span.until - interval '2 hours' and one.at < span.until
                group by 1
            ) as bin
        ) as minute
        where minute.failed > 0
    ) as streak
$$;

-- Finds, among the given roles, those whose due tasks have become more and more for ten minutes: in five
-- consecutive averages of two minutes, by 20 % and 20 tasks or more.
-- returns: one row per role: since when within the last hour, and the due tasks at that time
create or replace function rolecall.growing_roles(p_roles text[], p_now timestamptz)
returns table (role text, since timestamptz, before float8)
language sql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
    with span as materialized (
        select moment as until
        from rolecall.history_until
        where moment > p_now - interval '2 min'
    ),
    slot as materialized (
        select known.role, ceil(extract(epoch from span.until - bin.at) / 120)::int - 1 as number,
            sum(bin.samples) as samples, sum(bin.ready) as ready
        from span
        cross join rolecall.history_stretches(60, span.until - interval '1 hour', span.until) as stretch
        cross join (select '' union all select unnest(p_roles)) as known (role)
        cross join lateral (
            select * from rolecall.history as one
            where one.role = known.role and one.width = stretch.width and one.at >= stretch.since
                and one.at < stretch.until
            offset 0
        ) as bin
        group by 1, 2
    ),
    level as (
        select given.role, pool.number, coalesce(own.ready, 0)::float8 / pool.samples as ready
        from slot as pool
        cross join unnest(p_roles) as given (role)
        left join slot as own on own.role = given.role and own.number = pool.number
        where pool.role = '' and pool.samples > 0
    ),
    step as (
        select level.*, (level.ready > lead(level.ready) over line) is not true as is_first
        from level
        window line as (partition by level.role order by level.number)
    ),
    run as (
        select step.role, min(step.number) filter (where step.is_first) as first,
            max(step.ready) filter (where step.number = 0) as ready
        from step
        group by step.role
    )
    select run.role, span.until - make_interval(secs => 120 * (run.first + 1)), base.ready
    from run
    cross join span
    join step as base on base.role = run.role and base.number = run.first
    where run.first >= 4 and run.ready >= 1.2 * base.ready and run.ready - base.ready >= 20
$$;

-- Finds workers that are gone without an order to leave: silent ones, and those that died within the last
-- hour. As many as have started since with the same roles and some of the handlers count as replaced.
-- returns: one row per worker that is not replaced, with the time of its death or of its last heartbeat
create or replace function rolecall.lost_workers(p_now timestamptz)
returns table (id bigint, name text, is_dead boolean, since timestamptz, roles text[], handlers text[])
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    with gone as materialized (
        select worker.id, worker.name, worker.is_dead, worker.heartbeat_at, worker.roles, worker.handlers,
            coalesce(worker.stopped_at, worker.heartbeat_at) as since,
            row_number() over (
                partition by worker.roles, worker.handlers order by worker.heartbeat_at desc, worker.id desc
            ) as place
        from rolecall.workers as worker
        where worker.command is null and not rolecall.is_active(worker, p_now)
            and (
                worker.stopped_at is null
                or (worker.is_dead and worker.stopped_at > p_now - interval '1 hour')
            )
    ),
    -- Many workers have the same roles and handlers, which are compared with those of the others once. A new
    -- release may have other handlers.
    started as materialized (
        select kind.roles, kind.handlers, array_agg(worker.started_at) as times
        from (select distinct gone.roles, gone.handlers from gone) as kind
        join rolecall.workers as worker
            on worker.roles = kind.roles and rolecall.is_active(worker, p_now)
                and (worker.handlers = kind.handlers or worker.handlers && kind.handlers)
        group by kind.roles, kind.handlers
    )
    select gone.id, gone.name, gone.is_dead, gone.since, gone.roles, gone.handlers
    from gone
    left join started on started.roles = gone.roles and started.handlers = gone.handlers
    where gone.place > (
        select count(*) from unnest(started.times) as start (at) where start.at > gone.heartbeat_at
    )
$$;
