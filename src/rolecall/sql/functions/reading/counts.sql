-- Counts the tasks of each role by state: open ones, and those finished within the retention. Finished
-- tasks are read only for the last seconds, which have not been rolled up yet. Open tasks are read, about
-- 10 ms for 100,000.
-- returns: one row per role and state
-- public: yes
create or replace function rolecall.counts()
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
        select line_id, state, number from rolecall.finished_counts
        union all
        select line_id, state, number from rolecall.counts_since((select moment from rolecall.counted_until))
    ) as counted
    join rolecall.lines as line on line.id = counted.line_id
    group by line.role, counted.state
    having sum(counted.number) > 0
    order by line.role, counted.state
$$;

-- Counts the tasks that finished at a time or later, by the BRIN index, which leads to the last pages of
-- the day.
-- returns: one row per line and state
create or replace function rolecall.counts_since(p_moment timestamptz)
returns table (line_id int, state rolecall.task_state, number bigint)
language sql
stable
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    select finished.line_id, finished.state, count(*)
    from rolecall.finished_tasks as finished
    where finished.finished_at >= p_moment
    group by finished.line_id, finished.state
$$;
