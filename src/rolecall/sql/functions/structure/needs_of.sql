-- Returns the outcomes of a task's needs; for a chain, that of its last task.
-- returns: one row per need, in the order declared
-- public: yes
create or replace function rolecall.needs_of(p_task_id bigint)
returns table (
    name text, needed_id bigint, whole_chain boolean, outcome rolecall.task_state, handler text, result jsonb,
    error text
)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select need.name, need.needed_id, need.whole_chain, need.outcome, line.handler, last.result, last.error
    from rolecall.needs as need
    left join lateral (
        select task.line_id, task.result, task.error
        from rolecall.finished_tasks as task
        where task.id = need.needed_id
            or (need.whole_chain and task.chain_id = need.needed_id and task.chain_index > 0)
        order by task.chain_index desc
        limit 1
    ) as last on need.outcome is not null
    left join rolecall.lines as line on line.id = last.line_id
    where need.task_id = p_task_id
    order by need.position
$$;
