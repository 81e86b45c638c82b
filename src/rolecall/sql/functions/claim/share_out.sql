-- Says how many of the next p_limit tasks each of several lines of one priority has, by claim order across
-- the lines. Like the walks themselves it starts at this session's floors.
-- returns: one row a line that has any
create or replace function rolecall.share_out(
    p_line_ids int[], p_limit int, p_taken bigint[], p_now timestamptz
)
returns table (line_id int, number int)
language sql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
    select next.line_id, count(*)::int
    from (
        select line.id as line_id
        from unnest(p_line_ids) as line (id)
        cross join lateral rolecall.line_floor(line.id) as floor
        cross join lateral (
            select task.scheduled_for, task.id
            from rolecall.tasks as task
            where task.line_id = line.id and task.state = 'pending' and not task.parked
                and task.scheduled_for <= p_now
                and (task.scheduled_for, task.id) > (floor.scheduled_for, floor.id)
                and task.id <> all(p_taken)
            order by task.scheduled_for, task.id
            limit p_limit
        ) as task
        order by task.scheduled_for, task.id
        limit p_limit
    ) as next
    group by next.line_id
$$;
