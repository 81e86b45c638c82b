-- Counts the tasks of each role by state, open ones and those finished within the retention.
-- returns: one row a role and state
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.counts()
returns table (role text, state text, number bigint)
language sql
stable
set search_path = ''
as $$
    select line.role, counted.state::text, sum(counted.number)::bigint
    from (
        select line_id, state, count(*) as number from rolecall.tasks group by line_id, state
        union all
        select line_id, state, count(*) from rolecall.finished_tasks group by line_id, state
    ) as counted
    join rolecall.lines as line on line.id = counted.line_id
    group by line.role, counted.state
    order by line.role, counted.state
$$;
