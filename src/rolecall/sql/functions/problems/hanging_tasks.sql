-- Finds hanging tasks: they have run for more than half a minute, and for more than five times as long as
-- 95 % of their handler's tasks of the last three days, of which there must be ten.
-- returns: one row per task, with the usual seconds of its handler
create or replace function rolecall.hanging_tasks()
returns table (
    id bigint, worker_id bigint, role text, handler text, started_at timestamptz, usual_seconds float8
)
language sql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
    with moment as materialized (
        select rolecall.clock() as now
    ),
    long as materialized (
        select task.id, task.worker_id, line.role, line.handler, task.started_at,
            extract(epoch from moment.now - task.started_at) as seconds
        from moment
        join rolecall.tasks as task
            on task.state = 'running' and task.started_at < moment.now - interval '30 s'
        join rolecall.lines as line on line.id = task.line_id
    ),
    kind as (
        select array_agg(known.role) as roles, array_agg(known.handler) as handlers
        from (select distinct long.role, long.handler from long) as known
    ),
    usual as materialized (
        select duration.*
        from moment
        cross join kind
        cross join lateral rolecall.usual_seconds(
            'run', kind.roles, kind.handlers, moment.now - interval '3 days', moment.now
        ) as duration
        where kind.roles is not null
    )
    select long.id, long.worker_id, long.role, long.handler, long.started_at, usual.seconds
    from long
    join usual on usual.role = long.role and usual.handler = long.handler
    where usual.number >= 10 and long.seconds > 5 * usual.seconds
$$;
