-- Lists the lines whose tasks may come before one of this role, handler and priority: those that its own
-- workers claim from (p_able), or any active worker, as keys are global; those of its role and handler
-- always. Lines of paused roles only if it is its own role.
-- returns: one row a line, with the place up to which its tasks come before the one that is due at p_due
create or replace function rolecall.rival_lines(
    p_line_id int, p_due timestamptz, p_id bigint, p_able boolean, p_now timestamptz
)
returns table (line_id int, priority smallint, due_before timestamptz, id_before bigint)
language sql
stable
set search_path = ''
as $$
    with worker as materialized (
        select distinct worker.roles, worker.handlers
        from rolecall.workers as worker
        join rolecall.lines as own on own.id = p_line_id
        where worker.stopped_at is null and worker.heartbeat_at > p_now - interval '5 min'
            and worker.command is null
            and (not p_able or (
                own.handler = any(worker.handlers) and (worker.roles = '{}' or own.role = any(worker.roles))
            ))
    )
    select line.line_id, line.priority,
        case when line.priority > own.priority then 'infinity' else p_due end,
        case when line.priority > own.priority then 0 else p_id end
    from rolecall.lines as own
    join rolecall.line_settings as line on line.priority >= own.priority
    where own.id = p_line_id
        and (line.role = own.role or not line.paused or line.paused_until <= p_now)
        and ((line.role = own.role and line.handler = own.handler) or exists (
            select from worker
            where line.handler = any(worker.handlers)
                and (worker.roles = '{}' or line.role = any(worker.roles))
        ))
$$;
