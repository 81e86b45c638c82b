-- Tells who stands between a task and its key: the tasks that hold it, and the due ones that want it and are better.
-- returns: a document: capacity, used, the first holders, how many are better (at most p_most), and the best three of them;
--          null where the task has no key, or holds its place already
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.key_situation(p_task rolecall.tasks, p_most int, p_now timestamptz)
returns jsonb
language sql
stable
set search_path = ''
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
    with line as materialized (
        select * from rolecall.rival_lines(p_task.line_id, p_task.scheduled_for, p_task.id, false, p_now)
        where p_task.state = 'pending' and p_task.key_slot is null and p_task.scheduled_for <= p_now
    ),
    holder as materialized (
        select task.id, task.key_slot from rolecall.tasks as task where task.key = p_task.key and task.key_slot is not null
    )
    select jsonb_build_object(
        'capacity', (select room.capacity from rolecall.room_of_keys(array[p_task.key]) as room),
        'used', (select count(*) from holder),
        'holders', array(select holder.id from holder order by holder.key_slot limit 10),
        'better', (
            select count(*)
            from (
                select
                from line
                cross join lateral (
                    select
                    from rolecall.tasks as task
                    where task.key = p_task.key and task.line_id = line.line_id and task.state = 'pending'
                        and task.key_slot is null and task.scheduled_for <= p_now
                        and (task.scheduled_for, task.id) < (line.due_before, line.id_before)
                    limit p_most
                ) as before
                limit p_most
            ) as counted
        ),
        'best', array(
            select before.id
            from line
            cross join lateral (
                select task.scheduled_for, task.id
                from rolecall.tasks as task
                where task.key = p_task.key and task.line_id = line.line_id and task.state = 'pending'
                    and task.key_slot is null and task.scheduled_for <= p_now
                    and (task.scheduled_for, task.id) < (line.due_before, line.id_before)
                order by task.scheduled_for, task.id
                limit 3
            ) as before
            order by line.priority desc, before.scheduled_for, before.id
            limit 3
        )
    )
    where p_task.key is not null and p_task.key_slot is null
$$;
