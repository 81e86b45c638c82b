-- Counts the open tasks of each line that wait for nobody but a worker or their time, from the indexes that
-- claims and renewals walk.
-- returns: one row a line that has any: due, due later, and running
create or replace function rolecall.backlog(p_now timestamptz)
returns table (line_id int, ready bigint, scheduled bigint, running bigint)
language sql
stable
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
    select part.line_id, sum(part.ready)::bigint, sum(part.scheduled)::bigint, sum(part.running)::bigint
    from (
        select line_id, count(*) filter (where scheduled_for <= p_now) as ready,
            count(*) filter (where scheduled_for > p_now) as scheduled, 0 as running
        from rolecall.tasks
        where state = 'pending' and not parked
        group by line_id
        union all
        select line_id, 0, 0, count(*) from rolecall.tasks where state = 'running' group by line_id
    ) as part
    group by part.line_id
$$;
