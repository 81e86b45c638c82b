-- Finds due tasks that could run but that no active worker would claim: no worker serves the role, or none
-- of those has the handler.
-- returns: one row per role and handler, with the number of tasks and of the role's active workers
create or replace function rolecall.stranded_work()
returns table (role text, handler text, tasks bigint, workers bigint)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    with moment as materialized (
        select rolecall.clock() as now
    ),
    active as (
        select worker.roles, worker.handlers from rolecall.workers as worker cross join moment
        where worker.stopped_at is null and worker.heartbeat_at > moment.now - interval '5 min'
            and worker.command is null
    ),
    due as (
        select setting.role, setting.handler, count(*) as number
        from rolecall.tasks as task
        join rolecall.line_settings as setting on setting.line_id = task.line_id
        cross join moment
        where task.state = 'pending' and not task.parked and task.scheduled_for <= moment.now
            and (not setting.paused or setting.paused_until <= moment.now)
        group by setting.role, setting.handler
    )
    select due.role, due.handler, due.number, serving.number
    from due
    cross join lateral (
        select count(*) as number, bool_or(due.handler = any(active.handlers)) as able
        from active
        where active.roles = '{}' or due.role = any(active.roles)
    ) as serving
    where serving.able is not true
    order by due.role, due.handler
$$;
