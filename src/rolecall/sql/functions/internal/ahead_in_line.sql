-- Counts the due tasks that the workers of a task would claim before it, and that do not wait for a key already.
-- returns: their number, at most p_most
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.ahead_in_line(p_task rolecall.tasks, p_most int, p_now timestamptz)
returns bigint
language sql
stable
set search_path = ''
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
    select count(*)
    from (
        select
        from rolecall.rival_lines(p_task.line_id, p_task.scheduled_for, p_task.id, true, p_now) as line
        cross join lateral (
            select
            from rolecall.tasks as task
            where task.line_id = line.line_id and task.state = 'pending' and not task.parked
                and (task.scheduled_for, task.id) < (line.due_before, line.id_before) and task.scheduled_for <= p_now
            limit p_most
        ) as before
        limit p_most
    ) as counted
$$;
