-- Returns whether a worker that exits when idle still has work: a task of its roles and handlers that is
-- running, is due, or has run before and becomes due within five minutes. Tasks scheduled for later, and
-- tasks of paused roles, do not count. Tasks that wait for another one (a key, a need, a child) count only
-- through the one that they wait for.
-- public: yes
create or replace function rolecall.is_work_left(p_worker_id bigint, p_roles text[], p_handlers text[])
returns boolean
language sql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    select exists (
        select
        from rolecall.tasks as task
        join rolecall.lines as line on line.id = task.line_id
        where task.state = 'running' and (p_roles = '{}' or line.role = any(p_roles))
            and line.handler = any(p_handlers)
    )
    or exists (
        select
        from rolecall.lines_of_claim(
            array(select line.id from rolecall.lines as line),
            (p_worker_id, p_roles, p_handlers, false, 1, null)::rolecall.claim_terms, rolecall.clock()
        ) as line
        join rolecall.tasks as task on task.line_id = line.line_id
        where task.state = 'pending' and not task.parked
            and task.scheduled_for <= rolecall.clock() + interval '5 min'
            and (task.fence > 0 or task.scheduled_for <= rolecall.clock())
            and (task.expires_at <= rolecall.clock()) is not true
    )
$$;
