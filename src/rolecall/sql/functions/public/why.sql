-- Gathers all that decides whether a task runs, as it is at one moment, in one snapshot. It counts up to 10,001 of the tasks before
-- it, and no further.
-- returns: a document; null where there is no such task
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.why(p_task_id bigint)
returns jsonb
language sql
stable
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
    with open as materialized (
        select task, setting.role, setting.handler, setting.lease, setting.misfit_for, moment.now, (task).state as state,
            (task).state = 'pending' and (task).scheduled_for <= moment.now as due
        from (select rolecall.clock() as now) as moment
        join rolecall.tasks as task on task.id = p_task_id
        join rolecall.line_settings as setting on setting.line_id = task.line_id
    ),
    known as (
        select jsonb_build_object(
            'at', open.now,
            'waits', rolecall.held_up_by(open.task),
            'rescue_from', case when open.state = 'running' then rolecall.rescue_from(open.task, open.lease, open.now) end,
            'last_event', (
                select event.kind from rolecall.task_events as event
                where event.task_id = p_task_id and event.at >= (open.task).created_at
                order by event.at desc
                limit 1
            ),
            'key', case when open.state in ('pending', 'blocked') then rolecall.key_situation(open.task, 10001, open.now) end,
            'pause', (
                select jsonb_build_object('since', role.paused_at, 'until', role.paused_until, 'by', role.paused_by)
                from rolecall.roles as role
                where role.name = open.role and role.paused_at is not null and (role.paused_until <= open.now) is not true
            ),
            'one_root', (open.task).parent_id is null and (open.task).key = 'role:' || open.role and exists (
                select from rolecall.roles as role where role.name = open.role and role.one_root
            ),
            'parked', (open.task).parked,
            'unfit_since', case when open.state = 'pending' and open.misfit_for <> '{}' then rolecall.unfit_since(p_task_id) end,
            'workers', (
                select coalesce(jsonb_agg(to_jsonb(worker) order by worker.id), '[]')
                from rolecall.live_workers(open.role, open.handler, open.now) as worker
            ),
            'ahead', case when open.due and not (open.task).parked then rolecall.ahead_in_line(open.task, 10001, open.now) end
        ) as facts
        from open
    )
    select coalesce((select known.facts from known), jsonb_build_object('at', rolecall.clock())) || (
        select jsonb_build_object('id', task.id, 'state', task.state, 'role', task.role,
            'handler', task.handler, 'key_name', task.key, 'attempt', task.attempt, 'error', task.error,
            'worker_id', task.worker_id, 'scheduled_for', task.scheduled_for, 'claimed_at', task.claimed_at,
            'started_at', task.started_at, 'lease_until', task.lease_until, 'deadline_at', task.deadline_at,
            'cancel_requested_at', task.cancel_requested_at, 'finished_at', task.finished_at)
        from rolecall.all_tasks as task
        where task.id = p_task_id
    )
$$;
