-- Lists the needs of several tasks, without results.
-- returns: one row per need, task by task in the order declared, at most p_limit
-- public: yes
create or replace function rolecall.needs_of_tasks(p_ids bigint[], p_limit int default 50)
returns table (
    task_id bigint, name text, needed_id bigint, whole_chain boolean, outcome rolecall.task_state,
    handler text
)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select need.task_id, need.name, need.needed_id, need.whole_chain, need.outcome, needed.handler
    from (
        select need.*
        from rolecall.needs as need
        where need.task_id = any(p_ids)
        order by need.task_id, need.position limit p_limit
    ) as need
    left join lateral (
        select task.handler from rolecall.all_tasks as task where task.id = need.needed_id limit 1
    ) as needed on true
    order by need.task_id, need.position
$$;
