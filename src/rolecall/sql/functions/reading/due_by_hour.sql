-- Counts the pending tasks of a role that become due in each of the next hours.
-- returns: one row for each hour in which a task becomes due, 0 for the hour that begins now
-- public: yes
create or replace function rolecall.due_by_hour(p_role text, p_hours int)
returns table (hour int, number bigint)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    with moment as materialized (
        select rolecall.clock() as now
    )
    select floor(extract(epoch from task.scheduled_for - moment.now) / 3600)::int as hour, count(*)
    from rolecall.tasks as task
    join rolecall.lines as line on line.id = task.line_id
    cross join moment
    where line.role = p_role and task.state = 'pending' and task.scheduled_for > moment.now
        and task.scheduled_for < moment.now + make_interval(hours => p_hours)
    group by 1
    order by 1
$$;
