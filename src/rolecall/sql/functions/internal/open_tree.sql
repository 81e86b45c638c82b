-- Finds a task, open or ended, and what is open below it. An open task counts as a parent while it waits for children, and after
-- that, between two steps.
-- returns: one row a task
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.open_tree(p_id bigint)
returns table (
    id bigint, parent_id bigint, depth int, line_id int, state rolecall.task_state, info jsonb, children_info jsonb, fence int,
    parent_fence int, is_parent boolean, counting boolean, serial boolean, created_at timestamptz
)
language sql
stable
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
    with recursive open as (
        select task.id, null::bigint as parent_id, 0 as depth, task.line_id, task.state, task.info, task.children_info, task.fence,
            task.parent_fence, task.step, task.open_children, task.serial, task.created_at
        from rolecall.tasks as task
        where task.id = p_id
        union all
        select child.id, open.id, open.depth + 1, child.line_id, child.state, child.info, child.children_info, child.fence,
            child.parent_fence, child.step, child.open_children, child.serial, child.created_at
        from open
        cross join lateral (
            select task.*
            from rolecall.tasks as task
            where task.parent_id = open.id and open.open_children is not null
            offset 0
        ) as child
    )
    select open.id, open.parent_id, open.depth, open.line_id, open.state, open.info, open.children_info, open.fence,
        open.parent_fence, coalesce(open.open_children, open.step) is not null, open.open_children is not null,
        coalesce(open.serial, false), open.created_at
    from open
    union all
    (
        select task.id, null, 0, task.line_id, task.state, task.info, null, task.fence, null, true, false, false, task.created_at
        from rolecall.finished_tasks as task
        where task.id = p_id and not exists (select from open)
        limit 1
    )
$$;
