-- Lists the ancestors of a task, up to the root, or to the first one that has been pruned.
-- returns: one row per task, the topmost first
-- public: yes
create or replace function rolecall.ancestors_of(p_id bigint)
returns table (id bigint, handler text, state rolecall.task_state)
language sql
stable
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    with recursive above as (
        select task.id, task.parent_id, 0 as distance, task.handler, task.state
        from rolecall.all_tasks as task
        where task.id = p_id
        union all
        select task.id, task.parent_id, above.distance + 1, task.handler, task.state
        from above
        cross join lateral (
            select each.* from rolecall.all_tasks as each where each.id = above.parent_id offset 0
        ) as task
    )
    select above.id, above.handler, above.state
    from above
    where above.distance > 0
    order by above.distance desc
$$;
