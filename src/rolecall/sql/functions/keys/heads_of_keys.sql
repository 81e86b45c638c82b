-- Finds who stands first for keys: of each line in which due tasks want the key, as many as the key has room
-- for, parked or not. It steps from line to line of the key, so that lines in which nobody wants it cost
-- nothing.
-- returns: one row a task
create or replace function rolecall.heads_of_keys(p_keys text[], p_rooms int[], p_now timestamptz)
returns table (key text, id bigint, line_id int, scheduled_for timestamptz, parked boolean)
language sql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
    with recursive step as (
        select wanted.key, wanted.room, line.line_id
        from unnest(p_keys, p_rooms) as wanted (key, room)
        cross join lateral (
            select task.line_id from rolecall.tasks as task
            where task.key = wanted.key and task.state = 'pending'
            order by task.line_id
            limit 1
        ) as line
        union all
        select step.key, step.room, line.line_id
        from step
        cross join lateral (
            select task.line_id from rolecall.tasks as task
            where task.key = step.key and task.state = 'pending' and task.line_id > step.line_id
            order by task.line_id
            limit 1
        ) as line
    )
    select step.key, head.id, step.line_id, head.scheduled_for, head.parked
    from step
    cross join lateral (
        select task.id, task.scheduled_for, task.parked
        from rolecall.tasks as task
        where task.key = step.key and task.line_id = step.line_id and task.state = 'pending'
            and task.key_slot is null and task.scheduled_for <= p_now
        order by task.scheduled_for, task.id
        limit step.room
    ) as head
$$;
