-- Lists the tree below a task, open and finished tasks, children after their parents.
-- returns: one row per task, the given one first
-- public: yes
create or replace function rolecall.tree(p_root_id bigint)
returns table (
    id bigint, parent_id bigint, depth int, handler text, state rolecall.task_state, info jsonb, error text,
    started_at timestamptz, finished_at timestamptz
)
language sql
stable
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    with recursive below as (
        select task.id, null::bigint as parent_id, 0 as level, task.handler, task.state, task.info,
            task.error, task.started_at, task.finished_at
        from rolecall.all_tasks as task
        where task.id = p_root_id
        union all
        select child.id, below.id, below.level + 1, child.handler, child.state, child.info, child.error,
            child.started_at, child.finished_at
        from below
        cross join lateral (
            select task.* from rolecall.all_tasks as task where task.parent_id = below.id offset 0
        ) as child
    )
    select * from below order by below.level, below.id
$$;
