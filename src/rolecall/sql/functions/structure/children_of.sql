-- Returns the outcomes of the children that a task spawned last; for a child's chain, that of its last
-- task.
-- returns: one row per child, in the order in which they were spawned
-- public: yes
create or replace function rolecall.children_of(p_parent_id bigint)
returns table (
    id bigint, handler text, state rolecall.task_state, payload jsonb, result jsonb, info jsonb, error text,
    chain_id bigint
)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    with child as (
        select task.id, task.line_id, task.state, task.payload, null::jsonb as result, task.info, task.error,
            task.chain_id, task.parent_fence
        from rolecall.tasks as task
        where task.parent_id = p_parent_id
        union all
        select task.id, task.line_id, task.state, task.payload, task.result, task.info, task.error,
            task.chain_id, task.parent_fence
        from rolecall.finished_tasks as task
        where task.parent_id = p_parent_id and task.continued is not true
    )
    select child.id, line.handler, child.state, child.payload, child.result, child.info, child.error,
        child.chain_id
    from child
    join rolecall.lines as line on line.id = child.line_id
    where child.parent_fence = (select max(latest.parent_fence) from child as latest)
    order by child.chain_id
$$;
