-- Counts the tasks of roles (empty: of all) by state: open ones, and those that have finished since a time.
-- returns: one row per role and state
-- public: yes
create or replace function rolecall.counts_of_run(p_roles text[], p_since timestamptz)
returns table (role text, state text, number bigint)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select line.role, counted.state::text, sum(counted.number)::bigint
    from (
        select task.line_id, shown.state, count(*) as number
        from rolecall.tasks as task
        cross join lateral (
            select rolecall.shown_state(task.state, task.key_slot, task.started_at) as state
        ) as shown
        group by task.line_id, shown.state
        union all
        select since.line_id, since.state, since.number from rolecall.counts_since(p_since) as since
    ) as counted
    join rolecall.lines as line on line.id = counted.line_id
    where p_roles = '{}' or line.role = any(p_roles)
    group by line.role, counted.state
    order by line.role, counted.state
$$;
