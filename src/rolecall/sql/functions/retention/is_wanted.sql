-- Says whether a finished task must be kept although its own time is up: its chain, or one above it in its
-- tree, is open, is held by something open, or ended so lately that its last task is kept.
-- returns: true or false
create or replace function rolecall.is_wanted(
    p_chain_id bigint, p_parent_id bigint, p_held bigint[], p_now timestamptz
)
returns boolean
language sql
stable
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
    with recursive above as (
        select p_chain_id as chain_id, p_parent_id as parent_id
        union
        select task.chain_id, task.parent_id
        from above
        cross join lateral (
            select open.chain_id, open.parent_id from rolecall.tasks as open where open.id = above.parent_id
            union all
            select finished.chain_id, finished.parent_id
            from rolecall.finished_tasks as finished
            where finished.id = above.parent_id
        ) as task
    )
    select exists (
        select from above
        where above.chain_id = any(p_held) or rolecall.is_open(above.chain_id, true)
            or (
                select last.finished_at >= p_now - case last.state
                    when 'completed' then role.keep_completed
                    else role.keep_failed
                end
                from (
                    (
                        select task.finished_at, task.line_id, task.state, 1 as turn
                        from rolecall.finished_tasks as task
                        where task.chain_id = above.chain_id and task.chain_index > 0
                        order by task.chain_index desc
                        limit 1
                    )
                    union all
                    select task.finished_at, task.line_id, task.state, 2
                    from rolecall.finished_tasks as task
                    where task.id = above.chain_id
                ) as last
                join rolecall.lines as line on line.id = last.line_id
                join rolecall.roles as role on role.name = line.role
                order by last.turn
                limit 1
            )
    )
$$;
